"""Rehearsal: try a version on recorded runs, driven as an engine would, with simulated effects."""
