"""What a skill can reach of the world: one unix socket for each child, and behind it what the skill was granted."""
