"""The orchestrator as we reach it: Inngest's public HTTP contract, the same for every engine that speaks it."""
