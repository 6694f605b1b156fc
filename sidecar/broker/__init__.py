"""The broker: the only way from a skill to the world, within what the skill was granted."""
