"""Core tools that every task has: plan, ask a person, look things up, finish."""
