"""Taking in what an app says about itself."""
