"""Limits on what a task may do and spend: autonomy, credits, and the guard that applies both."""
