"""The engine's protocol: how functions are registered, and how their calls are limited and answered."""
