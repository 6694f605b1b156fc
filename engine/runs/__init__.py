"""The rules of execution: how events, answers of apps and timers change runs."""
