"""The worker: the process that serves the agent's functions to the engine."""
