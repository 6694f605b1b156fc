"""The rules of execution: what an event, an answer or a passed moment does to runs."""
