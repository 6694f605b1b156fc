"""Search by words and by meaning, within the scopes that the caller may see."""
