"""Backup and restore: one file that holds the database, the works, the keys and the agent's own folder."""
