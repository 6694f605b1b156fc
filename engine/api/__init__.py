"""The engine's HTTP surface."""
