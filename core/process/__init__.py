"""What a process does besides its work: crash points, heartbeats, log format, ending with its parent."""
