"""Tasks, their checklist, and what they wait for."""
