"""Rules for what the product itself asks the agent to do with a skill: a review's change, a repair."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from typing import Any

from standins.model.reply import StandinReply
from standins.model.rules import skill_calls, skill_source
from standins.model.rules.skill_words import report_skills, skill_phrase
from standins.model.rules.skill_writing import SkillFileDraft, end_skill_work, read_first, write_draft
from standins.model.rules.story import StoryRequest

_DATA = re.compile(r"<data>\n(.*)\n</data>\s*$", re.DOTALL)


def order_in(text: str) -> Mapping[str, Any] | None:
    """Return the data at the end of a message from the product's review or repair; None for any other message."""
    found = _DATA.search(text)
    try:
        data = json.loads(found[1]) if found else None
    except ValueError:
        return None
    known = isinstance(data, dict) and data.get("kind") in {"skill_review", "skill_repair"}
    return data if known and isinstance(data, dict) else None


def work_on_skill_order(
    order: Mapping[str, Any], request: StoryRequest, language: str, tools: Set[str]
) -> StandinReply:
    stem = str(order.get("skill_id"))
    source, read = skill_calls.source_of(request.made, stem)
    if source is None:
        return read_first([read] if read is not None else [], request.made, language)
    if order.get("kind") == "skill_repair":
        error = order.get("error")
        said = error.get("message") if isinstance(error, Mapping) else None
        return end_skill_work(skill_phrase(language, "no_fault", skill=stem, error=said), request.made, tools)
    done = skill_calls.last_saved(request.made, stem)
    if done is not None:
        return end_skill_work(report_skills(language, [done]), request.made, tools)
    changes = order.get("changes")
    new = skill_source.set_numbers(source, changes if isinstance(changes, list) else [])
    if new == source:
        return end_skill_work(skill_phrase(language, "unchanged"), request.made, tools)
    base = order.get("base_version")
    reason = f"{order.get('summary')} Expected: {json.dumps(order.get('prediction'), sort_keys=True)}"
    return write_draft(
        SkillFileDraft(stem, new, reason[:1900], base if isinstance(base, int) else None), request.made, language
    )
