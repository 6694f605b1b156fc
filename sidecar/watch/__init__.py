"""Skill files: where they are, what they hold, and when one was saved."""
