"""The process that watches, checks, jails, registers and serves skills."""
