"""The agent runtime: tasks and their inbox, turns and the loop that runs them, limits, cards, context and tools."""
