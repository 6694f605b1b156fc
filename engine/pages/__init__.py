"""Pages of the engine: apps and functions, events, runs, and the actions a person can take on them."""
