"""The engine's protocol: how functions are registered, called and answered for."""
