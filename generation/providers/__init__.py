"""Providers: the port to services that make things, what they offer, and one adapter a file."""
