"""Give the agent work."""

from __future__ import annotations

from skills.kit.door import door


def ask_agent(text: str, *, key: str | None = None) -> str:
    """Post a message to the agent and return its id. Paid acts that follow from it wait for a person's card.

    The agent answers people, not the skill. The message is posted once per `key`, across all runs of the skill; without
    a key, once per run and text.
    """
    return str(door.ask("ask_agent", "/ask_agent", {"text": text, "key": key})["message_id"])
