"""The rollout of a skill: from a saved file, through a candidate, to the version that serves."""
