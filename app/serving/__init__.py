"""The processes of a product, one file each."""
