"""The pages themselves: their handlers and what they read."""
