"""What a key may say for a person: a program's key speaks for itself only, and nobody takes back another's words."""

from __future__ import annotations

from core.errors import RefusedError
from core.identity import Speaker
from runtime.messages import Message


def only_a_person(speaker: Speaker, act: str) -> None:
    """Raises RefusedError for a program's key, whatever its scopes; `act` is what it may not do."""
    if speaker.speaks_as != "person":
        raise RefusedError(f"a program's key may not {act}: it takes a person, in the page or by their key")


def own_words(speaker: Speaker, message: Message) -> None:
    """Raises RefusedError unless the message is the speaker's, or the speaker administers the workspace."""
    if message.person_id != speaker.person_id and not speaker.may("admin"):
        raise RefusedError("these are another person's words: only they, or an owner by an admin key, may move them")
