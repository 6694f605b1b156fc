"""The rollout of a skill: from a saved file over a candidate to the version that serves."""
