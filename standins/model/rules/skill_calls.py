"""Results of the calls about skills so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from standins.model.conversation import ModelCall
from standins.model.reply import ReplyCall


def last_answer(made: Sequence[ModelCall], name: str) -> Mapping[str, Any] | None:
    """The newest answer of a call with this name that had one."""
    return next((_told(one) for one in reversed(made) if one.name == name and _worked(one)), None)


def count_tries(made: Sequence[ModelCall], tool: str, /, **arguments: Any) -> int:
    return sum(one.name == tool and _with(one, arguments) for one in made)


def source_of(made: Sequence[ModelCall], stem: str) -> tuple[str | None, ReplyCall | None]:
    """The whole source as it was read last, or else the call that reads its next page."""
    pages: dict[int, str] = {}
    count = 1
    for one in made:
        if one.name == "read_skill" and one.arguments.get("name") == stem and _worked(one):
            told = _told(one)
            page = int(one.arguments.get("page") or 1)
            # Read anew from its beginning: what was read before may be an older version.
            pages = pages if page > 1 else {}
            pages[page] = str(told.get("source") or "")
            count = int(told.get("pages") or 1)
    missing = next((page for page in range(1, count + 1) if page not in pages), None)
    if missing is None:
        return "".join(pages[page] for page in sorted(pages)), None
    return None, ReplyCall("read_skill", {"name": stem} if missing == 1 else {"name": stem, "page": missing})


def version_of(made: Sequence[ModelCall], stem: str) -> int | None:
    """The version of a skill as it was read or written last."""
    for one in reversed(made):
        told = _told(one)
        if told.get("skill_id") == stem and isinstance(told.get("version"), int):
            return int(told["version"])
    return None


def writes_of(made: Sequence[ModelCall], name: str) -> list[ModelCall]:
    return [one for one in made if one.name == "write_skill" and one.arguments.get("name") == name]


def last_saved(made: Sequence[ModelCall], name: str) -> Mapping[str, Any] | None:
    """The answer of the last write of this name that was saved."""
    saved = [_told(one) for one in writes_of(made, name) if _told(one).get("written") is True]
    return saved[-1] if saved else None


def proposal_of(one: ModelCall) -> Mapping[str, Any] | None:
    """The answer of a write that asks a person on a card before it changes their file."""
    told = _told(one)
    return told if told.get("written") is False and told.get("card_id") else None


def problems_of(one: ModelCall) -> list[Mapping[str, Any]]:
    listed = _told(one).get("problems")
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def error_of(one: ModelCall) -> str:
    told = _told(one)
    return str(told.get("message") or told.get("error") or "")


def _worked(one: ModelCall) -> bool:
    return isinstance(one.result, Mapping) and not one.failed and "shortened" not in one.result


def _told(one: ModelCall) -> Mapping[str, Any]:
    return one.result if isinstance(one.result, Mapping) else {}


def _with(one: ModelCall, arguments: Mapping[str, Any]) -> bool:
    return all(one.arguments.get(name) == value for name, value in arguments.items())
