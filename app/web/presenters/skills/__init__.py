"""Skills as the API and the pages show them."""
