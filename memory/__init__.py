"""Memory: facts about people, workspaces and tasks, with their sources."""
