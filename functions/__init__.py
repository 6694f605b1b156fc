"""The durable functions of the agent, one file each."""
