"""Commands for the installation on this machine: start it, look at it, migrate, back up and restore it."""
