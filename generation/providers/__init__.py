"""Providers: the port to generation services, their offers, and one adapter in each file."""
