"""Language model: the port, the OpenAI-compatible adapter, and a scripted model for tests."""
