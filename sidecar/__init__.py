"""The process that watches, checks, jails, syncs and swaps what the book of skills says."""
