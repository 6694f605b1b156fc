"""Backup and restore: one file with the database, the works, the keys and the agent folder."""
