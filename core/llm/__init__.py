"""The port to the language model, its OpenAI-compatible adapter, and a scripted model for tests."""
