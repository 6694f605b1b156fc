"""Skills that come with Loopwright, off until somebody turns them on. They are files to be served, never imported."""
