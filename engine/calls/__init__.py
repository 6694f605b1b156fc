"""Calls over HTTP: to apps, and to model providers for AI steps."""
