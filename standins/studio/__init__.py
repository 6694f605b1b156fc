"""The offline generation studio: a server of the jobs protocol that makes real media without a network."""
