"""The command line. `main` is the entry point of the script `loopwright`."""

from app.cli.root import main

__all__ = ["main"]
