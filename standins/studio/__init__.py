"""The offline generation studio: a service of the jobs protocol that makes real media without a network."""
