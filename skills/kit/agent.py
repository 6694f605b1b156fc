"""Giving the agent work."""

from __future__ import annotations

from skills.kit.door import door


def ask_agent(text: str, *, key: str | None = None) -> str:
    """Post a message to the agent, as a program would: paid acts that follow from it wait for a person's card.

    Answers the message's id; the agent's answer is for people and comes later. The message is posted once for each
    `key`, in all of the skill's runs; without a key, once for each run and text.
    """
    return str(door.ask("ask_agent", "/ask_agent", {"text": text, "key": key})["message_id"])
