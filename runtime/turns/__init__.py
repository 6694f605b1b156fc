"""Turns: their rows, the lease, the ledger of steps and calls, and the decision what comes next."""
