"""A served web process for tests: real HTTP, real database, prepared rows."""
