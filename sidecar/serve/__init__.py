"""The sidecar's server: the registry of skills and the web application."""
