"""A task about skills: read how it is done, read what is there, write, repair what the checks found, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from app.standins.model.conversation import Conversation, Made
from app.standins.model.reply import Call, Reply
from app.standins.model.rules import skill_calls, skill_source
from app.standins.model.rules.shown import State
from app.standins.model.rules.skill_named import named_skill, named_work
from app.standins.model.rules.skill_orders import order_in, ordered
from app.standins.model.rules.skill_words import report, say
from app.standins.model.rules.skill_writing import Draft, end, reading, sensitivity_wanted, tuned, write
from app.standins.model.rules.story import Request, all_made
from app.standins.model.rules.watch_wish import WatchWish, address_in, wants_watching, watch_wish

GUIDE = "writing-skills"
TRIAGE, CHECK = "incident_triage", "infra_health_check"


def skill_work(conversation: Conversation, asked: Sequence[Request], state: State, tools: Set[str]) -> Reply | None:
    """The next decision, or None when the task is not about skills or has no tools for them."""
    if "write_skill" not in tools:
        return None
    newest = asked[-1]
    if (order := order_in(newest.text)) is not None:
        return ordered(order, newest, state.language, tools)
    has_works = bool(state.orders or state.objects)
    if not has_works and (stem := named_skill(newest.text)) is not None:
        return named_work(stem, newest, state.language, tools)
    first = next((one for one in asked if wants_watching(one.text)), None)
    if first is None:
        return None
    wish = watch_wish("\n".join(one.text for one in asked))
    if first is newest or not _stems(all_made(conversation)):
        return _wished(wish, first.text, newest.made, state, tools)
    return _changed(conversation, newest, state, tools)


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
        return reading([call for call in (read, more) if call is not None], made, state.language)
    # The check invokes the triage by the name that it really got.
    done = skill_calls.written(made, names[0])
    if done is None:
        source = skill_source.adapted(triage, wish, f"{subject}: incident triage", TRIAGE)
        return write(Draft(names[0], source, reason, _base(made, names[0])), made, state.language)
    if skill_calls.written(made, names[1]) is None:
        source = skill_source.adapted(check, wish, f"{subject}: health check", str(done.get("skill_id")))
        return write(Draft(names[1], source, reason, _base(made, names[1])), made, state.language)
    said = report(state.language, [skill_calls.written(made, name) or {} for name in names])
    if not wish.address:
        said += " " + say(state.language, "address", host=skill_source.host_of(check))
    return end(said, made, tools)


def _changed(conversation: Conversation, request: Request, state: State, tools: Set[str]) -> Reply:
    """A later wish about the skills that this task wrote: where the metrics are, or how soon to alarm."""
    address = address_in(request.text)
    factor = sensitivity_wanted(request.text)
    if not address and factor is None:
        return Reply(say(state.language, "only"))
    stems = _stems(all_made(conversation))
    for stem in stems if address else stems[-1:]:
        if skill_calls.written(request.made, stem) is not None:
            continue
        source, read = skill_calls.source_of(request.made, stem)
        if source is None:
            return reading([read] if read is not None else [], request.made, state.language)
        new = skill_source.moved_to(source, address) if address else tuned(source, factor or 1.0)
        if new == source:
            continue
        base = skill_calls.version_of(request.made, stem)
        return write(Draft(stem, new, f"Asked for by: {request.text[:400]}", base), request.made, state.language)
    saved = [found for stem in stems if (found := skill_calls.written(request.made, stem)) is not None]
    said = report(state.language, saved) if saved else say(state.language, "unchanged")
    return end(said, request.made, tools)


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
