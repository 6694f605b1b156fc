"""Orchestrator: a client of Inngest's public HTTP API, for any engine that implements it."""
