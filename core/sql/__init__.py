"""SQL as we use it: column types, connections, statements. Imports nothing else of ours."""
