"""Shipped skills, the kit that skill authors import, and the book of skills."""
