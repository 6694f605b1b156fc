"""The published schema: every name and shape that others rely on, held against a stored list."""
