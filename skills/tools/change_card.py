"""The card for a change of a person's own skill file, which is saved only after they accept it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from core.database import Scope
from core.errors import ConflictError, InvalidError, RefusedError
from core.tools import CallContext
from runtime.cards import cards
from runtime.cards.cards import Card
from runtime.statuses import CardKind, CardState
from skills.book import skill
from skills.book.display_text import escape_invisible, one_line
from skills.book.versions import CheckedVersion
from skills.tools.folder import sha_of

CHANGE_ACT = "change_skill"
ACCEPT_OPTION = "grant"
_OPTIONS = ({"id": ACCEPT_OPTION, "label": "Accept the change"}, {"id": "refuse", "label": "Refuse"})
_LONGEST_DIFF = 20_000
_MOST_LINES = 5_000
"""Lines per text that are compared: the time grows faster than their number."""


@dataclass(frozen=True)
class AcceptedChange:
    """An accepted change: the new source and the version it is based on."""

    source: str
    base_id: str


def describe_change(base: CheckedVersion, source: str) -> str:
    """Return the change as a unified diff for the card.

    Raises InvalidError if nothing changes, or too much for a person to judge on a card. May take a while.
    """
    if base.source == source:
        raise InvalidError(f"this is what version {base.number} says already")
    # Split at \n only: a page may show other line ends in its own way, so they are escaped below.
    before, after = base.source.split("\n"), source.split("\n")
    if max(len(before), len(after)) > _MOST_LINES:
        raise InvalidError(f"a file of more than {_MOST_LINES:,} lines is changed by its owner: say what should change")
    lines = difflib.unified_diff(before, after, "as it is", "as proposed", lineterm="")
    # Indented as a Markdown code block, which no line of the text can then end.
    shown = "\n".join(f"    {escape_invisible(line)}" for line in lines)
    if len(shown) > _LONGEST_DIFF:
        raise InvalidError("a person could not judge so long a change on a card: change less at once")
    return shown


def open_change_card(
    scope: Scope, call: CallContext, path: Path, base: CheckedVersion, source: str, reason: str, shown: str
) -> Card:
    """Open the card with the `shown` diff, in place of an earlier one of this task; the file stays as it is.

    Raises ConflictError if the file no longer holds the base version, or another version serves.
    """
    _still_holds(path, base)
    if skill.get_skill(scope, base.skill_id).version_id != base.id:
        raise ConflictError(f"version {base.number} does not serve: only what serves is changed")
    for card in cards.list_all_open_cards(scope, call.task_id) if call.task_id is not None else ():
        if card.act == CHANGE_ACT and card.subject["skill_id"] == base.skill_id and card.cause != call.call_id:
            cards.supersede_card(scope, card.id)
    # In one line, so that the reason cannot imitate the diff.
    why = one_line(reason)
    return cards.open_card(
        scope,
        kind=CardKind.PERMISSION,
        title=f"May the agent change {base.skill_id}?",
        body=f"{path} would be saved as the agent's next version. The agent says why: {why}\n\n{shown}",
        options=_OPTIONS,
        subject={"act": CHANGE_ACT, "skill_id": base.skill_id, "base_id": base.id, "source": source},
        cause=call.call_id,
        task_id=call.task_id,
        turn_id=call.turn_id,
    )


def read_accepted_change(scope: Scope, call: CallContext, card_id: str, stem: str) -> AcceptedChange:
    """Return the change that a person accepted on a card.

    Raises RefusedError for a refused card or one of another task or skill, ConflictError for one without an answer.
    """
    card = cards.get_card(scope, card_id)
    if card.act != CHANGE_ACT or card.subject["skill_id"] != stem or card.task_id != call.task_id:
        raise RefusedError(f"this card asks for no change of {stem} by this task")
    if card.state != CardState.ANSWERED:
        raise ConflictError(f"the card is {card.state}: wait for a person's answer", state=card.state)
    if card.answer_option != ACCEPT_OPTION:
        raise RefusedError("a person refused this change")
    return AcceptedChange(str(card.subject["source"]), str(card.subject["base_id"]))


def needs_saving(path: Path, base: CheckedVersion, source: str) -> bool:
    """Return whether the file still has to be saved; raises ConflictError if it was saved by another since."""
    if path.read_bytes() == source.encode():
        return False
    _still_holds(path, base)
    return True


def _still_holds(path: Path, base: CheckedVersion) -> None:
    if sha_of(path.read_bytes()) != base.sha:
        raise ConflictError(f"{path.name} no longer holds version {base.number}: read_skill, and start over")
