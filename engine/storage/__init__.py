"""What the engine keeps in its database: tables, transactions, the registry of functions, the queue."""
