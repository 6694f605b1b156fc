"""What happens in a chaos run, and when: drawn from a seed before anything starts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

PROCESSES = ("engine", "web", "worker", "sidecar", "model")
"""Those of the product; the run's own studio is killed beside them."""
FAULTS = (
    "busy", "drop_after_store", "delay_reply:2", "error_after_store:502",
    "html_status", "unknown_state:REVIEWING", "error_status:500", "delay_status:2", "error_body_status",
    "lost_job", "empty_output", "wrong_type_output",
    "fail_job", "content_refused", "overcharge:1.5", "overcharge:9", "odd_cost:a fortune",
    "duplicate_callbacks", "no_callbacks", "late_progress_after_done", "failed_after_done",
)  # fmt: skip
_WISHES = (
    ("Make me a retro poster for the {name} Festival, navy and cream.", 30),
    ("Make a set of two posters for the {name} {event}, {colours}.", 8),
    ("Make a four-second sound of the {name} bells.", 10),
    ("Write a short poem about the {name} lighthouse.", 2),
    ("Make a three-second film of the {name} regatta.", 8),
)
_EVENTS = ("Market", "Concert", "Regatta", "Carnival", "Marathon", "Exhibition", "Auction", "Parade")
_COLOURS = ("red and white", "green and gold", "black and pink", "blue and orange", "grey and yellow")
_BEGINNINGS = ("Ash", "Birch", "Clay", "Dun", "Elm", "Fen", "Glen", "Hazel", "Kel", "Lin")
_ENDINGS = ("bridge", "field", "ham", "mouth", "port", "wick")


class Kind(StrEnum):
    """`say` begins a task; the next three concern a task that is there by then, `doubled` repeats a whole request."""

    SAY = "say"
    FOLLOW_UP = "follow up"
    STOP = "stop"
    WITHDRAW = "withdraw"
    KILL = "kill"
    FAULT = "fault"


@dataclass(frozen=True, order=True)
class Act:
    """Something that is done so many seconds after the start; `what` is a text, a process or a fault."""

    at: float
    kind: Kind
    what: str = ""


def timeline(seed: int, seconds: float, tasks: int = 58) -> list[Act]:
    """The acts of a run of so many seconds, in their order. All but two of the tasks have something made elsewhere."""
    chance = random.Random(seed)
    texts = _texts(chance, tasks)
    # The later part is left to what has been asked for, so that it is hit in all its stages.
    acts = [Act(chance.uniform(0, 0.6 * seconds), Kind.SAY, text) for text in texts]
    acts += [Act(chance.uniform(0.2, 0.8) * seconds, Kind.FOLLOW_UP) for _ in range(tasks // 6)]
    acts += [Act(chance.uniform(0.1, 0.9) * seconds, Kind.STOP) for _ in range(tasks // 10)]
    acts += [Act(chance.uniform(0.1, 0.7) * seconds, Kind.WITHDRAW) for _ in range(tasks // 20)]
    acts += _every(chance, (2.0, 6.0), seconds, Kind.KILL, (*PROCESSES, "worker", "studio", "index"))
    acts += _every(chance, (0.5, 2.5), seconds, Kind.FAULT, FAULTS)
    return sorted(acts)


def _texts(chance: random.Random, tasks: int) -> list[str]:
    names = [first + last for first in _BEGINNINGS for last in _ENDINGS]
    chance.shuffle(names)
    wishes = [wish for wish, share in _WISHES for _ in range(share)]
    chance.shuffle(wishes)
    # Sets differ in more than a name: wishes that are nearly the same are taken for one.
    events = list(_EVENTS)
    chance.shuffle(events)
    return [
        wish.format(name=name, event=events[n % len(events)], colours=chance.choice(_COLOURS))
        for n, (wish, name) in enumerate(zip(wishes[:tasks], names, strict=False))
    ]


def _every(
    chance: random.Random, pause: tuple[float, float], seconds: float, kind: Kind, what: tuple[str, ...]
) -> list[Act]:
    acts, at = [], chance.uniform(*pause)
    while at < seconds:
        acts.append(Act(at, kind, chance.choice(what)))
        at += chance.uniform(*pause)
    return acts
