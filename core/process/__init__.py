"""Process: crash points, heartbeats, the log format, and the end of a child with its parent."""
