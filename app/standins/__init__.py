"""Offline stand-ins for the outside world: a chat model and a generation studio, reached only over HTTP."""
