"""Skills that ship with Loopwright, turned off until a person enables them. The files are served, never imported."""
