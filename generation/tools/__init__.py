"""The agent's side of generation: its tools and the state that it is shown."""
