"""What `serve NAME` runs: one file for each process."""
