"""Commands of a person: control a task, withdraw or replace a message, answer a card."""
