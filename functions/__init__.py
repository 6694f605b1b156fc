"""Durable functions of the agent, one file each, with the shell and the registry around them."""
