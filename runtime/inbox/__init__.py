"""Messages and other inputs of a task, from their arrival to the turn that is queued to read them."""
