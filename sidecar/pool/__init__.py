"""The pool of child processes that serve skill versions."""
