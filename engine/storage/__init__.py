"""Storage of the engine: its tables, transactions, the registry of functions and the queue."""
