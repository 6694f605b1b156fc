"""The jail: keeps a skill's process away from everything that is not its own."""
