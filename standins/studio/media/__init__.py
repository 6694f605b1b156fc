"""Pictures, films, sounds and forms made by rule from a prompt; the same request gives the same result."""
