"""Commands that ask a running product over its HTTP API."""
