"""The events of a task, divided by the person's requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from standins.model.conversation import Conversation, ModelCall, StoryEvent, WorkerInput
from standins.model.rules.intent import Intent, intent_of

REFUSING = frozenset({"refuse", "stop", "keep"})


@dataclass(frozen=True)
class StoryRequest:
    """Consecutive messages of the person; `after` are all events after them, later requests included."""

    text: str
    message_ids: tuple[str, ...]
    attachments: tuple[str, ...]
    intent: Intent
    after: Sequence[StoryEvent]

    @property
    def made(self) -> list[ModelCall]:
        return [event for event in self.after if isinstance(event, ModelCall)]

    @property
    def refused(self) -> bool:
        """Whether the answer to a card since then refused something."""
        return any(
            isinstance(event, WorkerInput) and event.kind == "answer" and event.facts.get("option") in REFUSING
            for event in self.after
        )


def requests_of(conversation: Conversation) -> list[StoryRequest]:
    """Return the requests, oldest first. Messages with nothing from the model between them are one request."""
    events = conversation.events
    found: list[StoryRequest] = []
    for start, end in _groups(events):
        inputs = [event for event in events[start:end] if isinstance(event, WorkerInput) and _words(event)]
        text = "\n".join(_words(event) for event in inputs)
        found.append(
            StoryRequest(
                text=text,
                message_ids=tuple(str(event.facts.get("id")) for event in inputs if event.facts.get("id")),
                attachments=tuple(one for event in inputs for one in _attachments(event)),
                intent=intent_of(text, first=not found and not conversation.shortened),
                after=events[end:],
            )
        )
    return found


def all_made(conversation: Conversation) -> list[ModelCall]:
    return [event for event in conversation.events if isinstance(event, ModelCall)]


def _groups(events: Sequence[StoryEvent]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each group of inputs: from one with words to the model's next event."""
    start: int | None = None
    for place, event in enumerate(events):
        if isinstance(event, WorkerInput) and _words(event):
            start = place if start is None else start
        elif start is not None and not isinstance(event, WorkerInput):
            yield start, place
            start = None
    if start is not None:
        yield start, len(events)


def _words(event: WorkerInput) -> str:
    """Return what the person says with an input: a message, or the words beside a card's answer."""
    if event.kind == "message":
        # A message of attachments only counts too. The sign has no words, so its intent is talk.
        return str(event.facts.get("text") or "") or ("🖼" if event.facts.get("attachments") else "")
    wanted = event.kind == "answer" and event.facts.get("option") not in REFUSING
    return str(event.facts.get("text") or "") if wanted else ""


def _attachments(event: WorkerInput) -> Iterator[str]:
    for one in event.facts.get("attachments") or ():
        yield (
            str(one.get("id") or one.get("object_id") or one.get("object") or "") if isinstance(one, dict) else str(one)
        )
