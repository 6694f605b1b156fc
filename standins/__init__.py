"""Offline stand-ins for external services: a model and a generation studio."""
