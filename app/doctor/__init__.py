"""What is right and wrong with an installation, in words that say what to do."""
