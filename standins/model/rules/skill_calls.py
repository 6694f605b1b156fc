"""Results of the calls about skills so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from standins.model.conversation import ModelCall
from standins.model.reply import ReplyCall


def last_answer(made: Sequence[ModelCall], name: str) -> Mapping[str, Any] | None:
    """Return the result of the newest call of this tool that worked."""
    return next((_result_of(one) for one in reversed(made) if one.name == name and _worked(one)), None)


def count_tries(made: Sequence[ModelCall], tool: str, /, **arguments: Any) -> int:
    return sum(one.name == tool and _has_arguments(one, arguments) for one in made)


def source_of(made: Sequence[ModelCall], stem: str) -> tuple[str | None, ReplyCall | None]:
    """Return the whole source as it was read last, or the call that reads a missing page; the other is None."""
    pages: dict[int, str] = {}
    count = 1
    for one in made:
        if one.name == "read_skill" and one.arguments.get("name") == stem and _worked(one):
            told = _result_of(one)
            page = int(one.arguments.get("page") or 1)
            # Page 1 begins a new reading: the pages before it may be of an older version.
            pages = pages if page > 1 else {}
            pages[page] = str(told.get("source") or "")
            count = int(told.get("pages") or 1)
    missing = next((page for page in range(1, count + 1) if page not in pages), None)
    if missing is None:
        return "".join(pages[page] for page in sorted(pages)), None
    return None, ReplyCall("read_skill", {"name": stem} if missing == 1 else {"name": stem, "page": missing})


def version_of(made: Sequence[ModelCall], stem: str) -> int | None:
    """Return the version of a skill as it was read or written last."""
    for one in reversed(made):
        told = _result_of(one)
        if told.get("skill_id") == stem and isinstance(told.get("version"), int):
            return int(told["version"])
    return None


def writes_of(made: Sequence[ModelCall], name: str) -> list[ModelCall]:
    return [one for one in made if one.name == "write_skill" and one.arguments.get("name") == name]


def last_saved(made: Sequence[ModelCall], name: str) -> Mapping[str, Any] | None:
    """Return the result of the last call that saved a skill under this name."""
    saved = [_result_of(one) for one in writes_of(made, name) if _result_of(one).get("written") is True]
    return saved[-1] if saved else None


def proposal_of(one: ModelCall) -> Mapping[str, Any] | None:
    """Return the result of a call that asked on a card instead of changing a person's file; None for any other."""
    told = _result_of(one)
    return told if told.get("written") is False and told.get("card_id") else None


def problems_of(one: ModelCall) -> list[Mapping[str, Any]]:
    listed = _result_of(one).get("problems")
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def error_of(one: ModelCall) -> str:
    told = _result_of(one)
    return str(told.get("message") or told.get("error") or "")


def _worked(one: ModelCall) -> bool:
    return isinstance(one.result, Mapping) and not one.failed and "shortened" not in one.result


def _result_of(one: ModelCall) -> Mapping[str, Any]:
    return one.result if isinstance(one.result, Mapping) else {}


def _has_arguments(one: ModelCall, arguments: Mapping[str, Any]) -> bool:
    return all(one.arguments.get(name) == value for name, value in arguments.items())
