"""The sidecar's process: its registry of skills and its web application."""
