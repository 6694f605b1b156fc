"""What has come for a task, from the message to the turn that is queued to read it."""
