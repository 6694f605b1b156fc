"""Which task a message belongs to: pure decisions over facts handed in."""
