"""Cards: questions to a person, and their answers."""
