"""The broker's services: one module for each kind of request."""
