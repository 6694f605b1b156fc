"""Shared workspace: objects and their versions."""
