"""Trying a version of a skill on runs of another: driven as an engine would, with nothing done."""
