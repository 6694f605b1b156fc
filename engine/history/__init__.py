"""History: read-only queries of runs, events and traces."""
