"""Rules for a task about skills: read the guide and the file, write, repair what the checks found, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from standins.model.conversation import Conversation, ModelCall
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules import skill_calls, skill_source
from standins.model.rules.shown_state import ShownState
from standins.model.rules.skill_named import named_skill, work_on_named_skill
from standins.model.rules.skill_orders import order_in, work_on_skill_order
from standins.model.rules.skill_words import report_skills, skill_phrase
from standins.model.rules.skill_writing import (
    SkillFileDraft,
    end_skill_work,
    read_first,
    sensitivity_wanted,
    tune_sensitivity,
    write_draft,
)
from standins.model.rules.story import StoryRequest, all_made
from standins.model.rules.watch_wish import WatchWish, address_in, wants_watching, watch_wish

GUIDE = "writing-skills"
TRIAGE, CHECK = "incident_triage", "infra_health_check"


def skill_work(
    conversation: Conversation, asked: Sequence[StoryRequest], state: ShownState, tools: Set[str]
) -> StandinReply | None:
    """Return the next decision; None if the task is not about skills or has no tools for them."""
    if "write_skill" not in tools:
        return None
    newest = asked[-1]
    if (order := order_in(newest.text)) is not None:
        return work_on_skill_order(order, newest, state.language, tools)
    has_works = bool(state.orders or state.objects)
    if not has_works and (stem := named_skill(newest.text)) is not None:
        return work_on_named_skill(stem, newest, state.language, tools)
    first = next((one for one in asked if wants_watching(one.text)), None)
    if first is None:
        return None
    wish = watch_wish("\n".join(one.text for one in asked))
    if first is newest or not _stems(all_made(conversation)):
        return _write_watching_skills(wish, first.text, newest.made, state, tools)
    return _change_written_skills(conversation, newest, state, tools)


def _write_watching_skills(
    wish: WatchWish, sentence: str, made: Sequence[ModelCall], state: ShownState, tools: Set[str]
) -> StandinReply:
    """Write a triage and a health check for a first wish, adapted from the shipped ones."""
    first = [ReplyCall("set_brief", {"brief": f"Watch what the person named, by durable skills: {sentence[:1500]}"})]
    looks = [] if state.brief or "set_brief" not in tools or skill_calls.count_tries(made, "set_brief") else first
    looks += [] if skill_calls.count_tries(made, "read_guide") else [ReplyCall("read_guide", {"name": GUIDE})]
    looks += [] if skill_calls.count_tries(made, "list_skills") else [ReplyCall("list_skills")]
    looks = [call for call in looks if call.name in tools]
    if looks:
        return StandinReply(calls=looks)
    subject = wish.service.replace("_", " ").capitalize() or "Infrastructure"
    reason = f"Asked for by: {sentence[:400]}"
    prefix = f"{wish.service}_" if wish.service else ""
    names = (f"{prefix}{TRIAGE}", f"{prefix}health_check" if prefix else CHECK)
    triage, read = skill_calls.source_of(made, TRIAGE)
    check, more = skill_calls.source_of(made, CHECK)
    if triage is None or check is None:
        return read_first([call for call in (read, more) if call is not None], made, state.language)
    # The check invokes the triage by the name that it really got.
    done = skill_calls.last_saved(made, names[0])
    if done is None:
        source = skill_source.adapt_source(triage, wish, f"{subject}: incident triage", TRIAGE)
        return write_draft(SkillFileDraft(names[0], source, reason, _base(made, names[0])), made, state.language)
    if skill_calls.last_saved(made, names[1]) is None:
        source = skill_source.adapt_source(check, wish, f"{subject}: health check", str(done.get("skill_id")))
        return write_draft(SkillFileDraft(names[1], source, reason, _base(made, names[1])), made, state.language)
    said = report_skills(state.language, [skill_calls.last_saved(made, name) or {} for name in names])
    if not wish.address:
        said += " " + skill_phrase(state.language, "address", host=skill_source.host_of(check))
    return end_skill_work(said, made, tools)


def _change_written_skills(
    conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str]
) -> StandinReply:
    """Change the skills that this task wrote, for a later wish: another address, or another sensitivity."""
    address = address_in(request.text)
    factor = sensitivity_wanted(request.text)
    if not address and factor is None:
        return StandinReply(skill_phrase(state.language, "only"))
    stems = _stems(all_made(conversation))
    for stem in stems if address else stems[-1:]:
        if skill_calls.last_saved(request.made, stem) is not None:
            continue
        source, read = skill_calls.source_of(request.made, stem)
        if source is None:
            return read_first([read] if read is not None else [], request.made, state.language)
        new = skill_source.move_to_address(source, address) if address else tune_sensitivity(source, factor or 1.0)
        if new == source:
            continue
        base = skill_calls.version_of(request.made, stem)
        return write_draft(
            SkillFileDraft(stem, new, f"Asked for by: {request.text[:400]}", base), request.made, state.language
        )
    saved = [found for stem in stems if (found := skill_calls.last_saved(request.made, stem)) is not None]
    said = report_skills(state.language, saved) if saved else skill_phrase(state.language, "unchanged")
    return end_skill_work(said, request.made, tools)


def _stems(made: Sequence[ModelCall]) -> list[str]:
    """Return the skills that this task wrote, in order."""
    names = dict.fromkeys(str(one.arguments.get("name")) for one in made if one.name == "write_skill")
    found = [skill_calls.last_saved(made, name) for name in names]
    return list(dict.fromkeys(str(one["skill_id"]) for one in found if one is not None))


def _base(made: Sequence[ModelCall], name: str) -> int | None:
    """Return the version of the agent's existing skill of this name; None if it has none."""
    listed = (skill_calls.last_answer(made, "list_skills") or {}).get("skills")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, Mapping) and one.get("skill_id") == name and one.get("origin") == "agent":
            version = one.get("version")
            return int(version) if isinstance(version, int) else None
    return None
