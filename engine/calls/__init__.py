"""Calling apps over HTTP."""
