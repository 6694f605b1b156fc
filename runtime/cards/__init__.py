"""Cards: questions to a person, with their answers."""
