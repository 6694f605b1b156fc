"""Durable skills: their files, checks, versions, runs and reviews, and the kit that skill authors import."""
