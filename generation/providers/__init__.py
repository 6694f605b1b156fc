"""Adapters of the provider port, one file each."""
