"""Search by words and by meaning, inside the scopes that the asker may see."""
