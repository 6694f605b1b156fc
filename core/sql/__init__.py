"""SQL shared by the product and the engine: column types, connections, statements. Imports nothing of ours."""
