"""A client of a running product: its connection, its HTTP API, and following a message."""
