"""The workspace's changes as Server-Sent Events."""
