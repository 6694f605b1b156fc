"""Context: what one model request contains, from the system prompt to the inputs of the step."""
