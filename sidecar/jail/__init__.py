"""What keeps a skill's process from everything that is not its own."""
