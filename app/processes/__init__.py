"""The processes of a product, one module each. Only the one that is started is imported."""
