"""What the product itself asks the agent to do with a skill: a review's change, a repair."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from typing import Any

from app.standins.model.reply import Reply
from app.standins.model.rules import skill_calls, skill_source
from app.standins.model.rules.skill_words import report, say
from app.standins.model.rules.skill_writing import Draft, end, reading, write
from app.standins.model.rules.story import Request

_DATA = re.compile(r"<data>\n(.*)\n</data>\s*$", re.DOTALL)


def order_in(text: str) -> Mapping[str, Any] | None:
    """What the product's own review or repair asks for; its data stand at the end of the message."""
    found = _DATA.search(text)
    try:
        data = json.loads(found[1]) if found else None
    except ValueError:
        return None
    known = isinstance(data, dict) and data.get("kind") in {"skill_review", "skill_repair"}
    return data if known and isinstance(data, dict) else None


def ordered(order: Mapping[str, Any], request: Request, language: str, tools: Set[str]) -> Reply:
    stem = str(order.get("skill_id"))
    source, read = skill_calls.source_of(request.made, stem)
    if source is None:
        return reading([read] if read is not None else [], request.made, language)
    if order.get("kind") == "skill_repair":
        error = order.get("error")
        said = error.get("message") if isinstance(error, Mapping) else None
        return end(say(language, "no_fault", skill=stem, error=said), request.made, tools)
    done = skill_calls.written(request.made, stem)
    if done is not None:
        return end(report(language, [done]), request.made, tools)
    changes = order.get("changes")
    new = skill_source.with_numbers(source, changes if isinstance(changes, list) else [])
    if new == source:
        return end(say(language, "unchanged"), request.made, tools)
    base = order.get("base_version")
    reason = f"{order.get('summary')} Expected: {json.dumps(order.get('prediction'), sort_keys=True)}"
    return write(Draft(stem, new, reason[:1900], base if isinstance(base, int) else None), request.made, language)
