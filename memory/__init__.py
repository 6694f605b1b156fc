"""What is remembered, with its sources."""
