"""The engine's own pages: what is registered, what came, what ran, and the few things a person may do about it."""
