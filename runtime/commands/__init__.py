"""What a person does to a task from outside: control it, withdraw a message, answer a card."""
