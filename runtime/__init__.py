"""The agent runtime: tasks, inbox, turns, guard, credits, checklist, cards, context."""
