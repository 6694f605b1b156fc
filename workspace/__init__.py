"""What is shared: objects and their versions."""
