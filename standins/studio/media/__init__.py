"""Pictures, films, sounds and forms made by rule from words, the same for the same request."""
