"""Rows as the API and the pages show them: typed shapes in JSON."""
