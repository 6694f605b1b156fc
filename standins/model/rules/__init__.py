"""What the stand-in decides: a file of rules for each behaviour, all of them pure."""
