"""Core tools that every worker has: plan, ask a person, look things up, finish."""
