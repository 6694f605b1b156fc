"""Offline stand-ins for services outside: a model and a generation studio."""
