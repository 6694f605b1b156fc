"""A task about skills: read how it is done, read what is there, write, repair what the checks found, report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from app.standins.model.conversation import Conversation, Made
from app.standins.model.reply import Call, Reply
from app.standins.model.rules import skill_calls, skill_source
from app.standins.model.rules.shown import State
from app.standins.model.rules.skill_words import report, say
from app.standins.model.rules.story import Request, all_made
from app.standins.model.rules.watch_wish import WatchWish, address_in, wants_watching, watch_wish

GUIDE = "writing-skills"
TRIAGE, CHECK = "incident_triage", "infra_health_check"
MOST_TRIES = 3
_DATA = re.compile(r"<data>\n(.*)\n</data>\s*$", re.DOTALL)
_LESS = re.compile(r"\b(less sensitive|too sensitive|too many (false )?al(arm|ert)s|moins sensible)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(more sensitive|too late|missed|plus sensible)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Draft:
    """A file to write: `name` as asked for, and the text."""

    name: str
    source: str
    reason: str
    base: int | None = None

    def call(self, source: str) -> Call:
        arguments: dict[str, Any] = {"name": self.name, "source": source, "reason": self.reason}
        return Call("write_skill", arguments if self.base is None else {**arguments, "base_version": self.base})


def skill_work(conversation: Conversation, asked: Sequence[Request], state: State, tools: Set[str]) -> Reply | None:
    """The next decision, or None when the task is not about skills or has no tools for them."""
    if "write_skill" not in tools:
        return None
    newest = asked[-1]
    order = order_in(newest.text)
    if order is not None:
        return _ordered(order, newest, state.language, tools)
    first = next((one for one in asked if wants_watching(one.text)), None)
    if first is None:
        return None
    wish = watch_wish("\n".join(one.text for one in asked))
    if first is newest or not _stems(all_made(conversation)):
        return _wished(wish, first.text, newest.made, state, tools)
    return _changed(conversation, newest, state, tools)


def order_in(text: str) -> Mapping[str, Any] | None:
    """What the product's own review or repair asks for; its data stand at the end of the message."""
    found = _DATA.search(text)
    try:
        data = json.loads(found[1]) if found else None
    except ValueError:
        return None
    known = isinstance(data, dict) and data.get("kind") in {"skill_review", "skill_repair"}
    return data if known and isinstance(data, dict) else None


def _wished(wish: WatchWish, sentence: str, made: Sequence[Made], state: State, tools: Set[str]) -> Reply:
    first = [Call("set_brief", {"brief": f"Watch what the person named, by durable skills: {sentence[:1500]}"})]
    looks = [] if state.brief or "set_brief" not in tools or skill_calls.tries(made, "set_brief") else first
    looks += [] if skill_calls.tries(made, "read_guide") else [Call("read_guide", {"name": GUIDE})]
    looks += [] if skill_calls.tries(made, "list_skills") else [Call("list_skills")]
    looks = [call for call in looks if call.name in tools]
    if looks:
        return Reply(calls=looks)
    subject = wish.service.replace("_", " ").capitalize() or "Infrastructure"
    reason = f"Asked for by: {sentence[:400]}"
    prefix = f"{wish.service}_" if wish.service else ""
    names = (f"{prefix}{TRIAGE}", f"{prefix}health_check" if prefix else CHECK)
    triage, read = skill_calls.source_of(made, TRIAGE)
    check, more = skill_calls.source_of(made, CHECK)
    if triage is None or check is None:
        return _reading([call for call in (read, more) if call is not None], made, state.language)
    # The check invokes the triage by the name that it really got.
    done = skill_calls.written(made, names[0])
    if done is None:
        source = skill_source.adapted(triage, wish, f"{subject}: incident triage", TRIAGE)
        return _write(_Draft(names[0], source, reason, _base(made, names[0])), made, state.language)
    if skill_calls.written(made, names[1]) is None:
        source = skill_source.adapted(check, wish, f"{subject}: health check", str(done.get("skill_id")))
        return _write(_Draft(names[1], source, reason, _base(made, names[1])), made, state.language)
    said = report(state.language, [skill_calls.written(made, name) or {} for name in names])
    if not wish.address:
        said += " " + say(state.language, "address", host=skill_source.host_of(check))
    return _end(said, made, tools)


def _changed(conversation: Conversation, request: Request, state: State, tools: Set[str]) -> Reply:
    """A later wish about the skills that this task wrote: where the metrics are, or how soon to alarm."""
    address = address_in(request.text)
    factor = 0.8 if _LESS.search(request.text) else 1.25 if _MORE.search(request.text) else None
    if not address and factor is None:
        return Reply(say(state.language, "only"))
    stems = _stems(all_made(conversation))
    for stem in stems if address else stems[-1:]:
        if skill_calls.written(request.made, stem) is not None:
            continue
        source, read = skill_calls.source_of(request.made, stem)
        if source is None:
            return _reading([read] if read is not None else [], request.made, state.language)
        new = skill_source.moved_to(source, address) if address else _tuned(source, factor or 1.0)
        if new == source:
            continue
        base = skill_calls.version_of(request.made, stem)
        return _write(_Draft(stem, new, f"Asked for by: {request.text[:400]}", base), request.made, state.language)
    saved = [found for stem in stems if (found := skill_calls.written(request.made, stem)) is not None]
    said = report(state.language, saved) if saved else say(state.language, "unchanged")
    return _end(said, request.made, tools)


def _ordered(order: Mapping[str, Any], request: Request, language: str, tools: Set[str]) -> Reply:
    stem = str(order.get("skill_id"))
    source, read = skill_calls.source_of(request.made, stem)
    if source is None:
        return _reading([read] if read is not None else [], request.made, language)
    if order.get("kind") == "skill_repair":
        error = order.get("error")
        said = error.get("message") if isinstance(error, Mapping) else None
        return _end(say(language, "no_fault", skill=stem, error=said), request.made, tools)
    done = skill_calls.written(request.made, stem)
    if done is not None:
        return _end(report(language, [done]), request.made, tools)
    changes = order.get("changes")
    new = skill_source.with_numbers(source, changes if isinstance(changes, list) else [])
    if new == source:
        return _end(say(language, "unchanged"), request.made, tools)
    base = order.get("base_version")
    reason = f"{order.get('summary')} Expected: {json.dumps(order.get('prediction'), sort_keys=True)}"
    return _write(_Draft(stem, new, reason[:1900], base if isinstance(base, int) else None), request.made, language)


def _write(draft: _Draft, made: Sequence[Made], language: str) -> Reply:
    """Write it, or write it again with what the checks found repaired."""
    before = skill_calls.writes(made, draft.name)
    if not before:
        return Reply(calls=[draft.call(draft.source)])
    last = before[-1]
    problems = skill_calls.problems_of(last)
    source = skill_source.repaired(str(last.arguments.get("source") or draft.source), problems)
    if len(before) >= MOST_TRIES or source == last.arguments.get("source"):
        told = "; ".join(f"line {one.get('line')}: {one.get('reason')}" for one in problems[:3])
        return Reply(say(language, "not_written", skill=draft.name, why=told or skill_calls.error_of(last)))
    return Reply(calls=[draft.call(source)])


def _reading(calls: Sequence[Call], made: Sequence[Made], language: str) -> Reply:
    left = [call for call in calls if skill_calls.tries(made, "read_skill", **call.arguments) < MOST_TRIES]
    return Reply(calls=left) if left else Reply(say(language, "no_pattern"))


def _end(said: str, made: Sequence[Made], tools: Set[str]) -> Reply:
    if "finish" in tools and not skill_calls.tries(made, "finish"):
        return Reply(calls=[Call("finish", {"summary": said})])
    return Reply(said)


def _stems(made: Sequence[Made]) -> list[str]:
    """The skills that this task wrote, in their order."""
    names = dict.fromkeys(str(one.arguments.get("name")) for one in made if one.name == "write_skill")
    found = [skill_calls.written(made, name) for name in names]
    return list(dict.fromkeys(str(one["skill_id"]) for one in found if one is not None))


def _base(made: Sequence[Made], name: str) -> int | None:
    """The version of a skill of that name that is the agent's already."""
    listed = (skill_calls.answered(made, "list_skills") or {}).get("skills")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, Mapping) and one.get("skill_id") == name and one.get("origin") == "agent":
            version = one.get("version")
            return int(version) if isinstance(version, int) else None
    return None


def _tuned(source: str, factor: float) -> str:
    was = skill_source.number_of(source, "SENSITIVITY")
    to = round((was or 1.0) * factor, 4)
    return skill_source.with_numbers(source, [{"constant": "SENSITIVITY", "to": to}])
