"""The pages: rendered on the server, kept fresh by small scripts."""
