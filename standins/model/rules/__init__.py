"""Rules by which the stand-in decides: one file for each behaviour, all pure."""
