"""The roof: processes, the composition root, and what people touch."""
