"""`loopwright skills` and `loopwright secrets`."""
