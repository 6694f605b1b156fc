"""Permission grants: what a manifest asks for, what a person has granted, and the card that asks for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from core.database import Scope
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card, open_card
from runtime.statuses import CardKind
from skills.book import versions
from skills.book.display_text import one_line
from skills.book.skill import Skill, lock_skill, reject_save, touch_skill
from skills.book.versions import CheckedVersion
from skills.format.manifest import SkillManifest
from skills.format.problem import SkillProblem
from skills.tables import skill_grants

GRANT_OPTIONS = ({"id": "grant", "label": "Grant"}, {"id": "refuse", "label": "Refuse"})
_MODEL = "model:"
_WHO = {"agent": "The agent", "person": "A person", "shipped": "Loopwright"}
_SAYS = {
    "host": "reach {}",
    "secret": "use the secret {} there",
    "send": "send the event {}",
    "invoke": "start the function {}",
    "memory": "read your memory",
    "ask_agent": "give tasks to the agent",
    "notify": "write to the channel {}",
    "model": "spend up to {} USD a day on models",
    "spend": "order paid work",
}


def wanted_permissions(manifest: SkillManifest, functions: Sequence[Mapping[str, Any]] = ()) -> tuple[str, ...]:
    """Return every permission of a manifest that a person must grant, as comparable text such as `host:a.example:80`.

    Listening to events needs no grant, nor does invoking the skill's own `functions`.
    """
    own = {str(function["id"]) for function in functions}
    asked = manifest.permissions
    found = [f"host:{host}" for host in asked.hosts]
    found += [f"secret:{name}@{host}" for name, host in asked.secrets.items()]
    found += [f"send:{event}" for event in asked.events.get("send", [])]
    found += [f"invoke:{function}" for function in asked.invoke if function.replace("/", "-", 1) not in own]
    found += ["memory:read"] if asked.memory == "read" else []
    found += ["ask_agent"] if asked.ask_agent else []
    found += [f"notify:{channel}" for channel in asked.notify]
    found += [f"{_MODEL}{asked.model_budget_per_day}"] if Decimal(asked.model_budget_per_day) > 0 else []
    found += ["spend"] if asked.spend else []
    return tuple(dict.fromkeys(found))


def granted_permissions(scope: Scope, stem: str) -> frozenset[str]:
    """Return what a person has granted to this skill, whether or not its versions still ask for it."""
    query = scope.select(skill_grants.c.permission).where(skill_grants.c.skill_id == stem)
    return frozenset(row.permission for row in scope.rows(query))


def missing_permissions(scope: Scope, stem: str, asked: Iterable[str]) -> tuple[str, ...]:
    """Return the permissions in `asked` that are not granted; a granted budget covers every smaller one."""
    has = granted_permissions(scope, stem)
    return tuple(permission for permission in asked if not _covered(permission, has))


def open_permission_card(
    scope: Scope, skill: Skill, version: CheckedVersion, asked: Sequence[str], cause: str, task_id: str | None = None
) -> Card:
    """Open the card that asks a person for these permissions, or, when there are none, for the change itself.

    `task_id` is the task that wrote the version and waits for the answer.
    """
    what = f"version {version.number} of {skill.id}" if skill.serves else f"the skill {skill.id}"
    title = f"May {what} do this?" if asked else f"May {what} go live?"
    return open_card(
        scope,
        kind=CardKind.PERMISSION,
        title=title,
        body=_card_body(skill, version, asked, _dropped_functions(scope, skill, version)),
        options=GRANT_OPTIONS,
        subject={"skill_id": skill.id, "version_id": version.id, "permissions": list(asked)},
        cause=cause,
        task_id=task_id,
    )


def answer_permission(scope: Scope, card: Card) -> None:
    """Act on an answered permission card: record the grants and let the version continue, or refuse it.

    Nothing changes when a newer version has replaced this one, or when the card is not about a version. The task that
    asked gets the answer in every case.
    """
    if "version_id" in card.subject:
        _apply_answer(scope, card)
    deliver_card_answer(scope, card)


def forget_grants(scope: Scope, stem: str) -> None:
    """Delete every grant of this skill."""
    scope.change(scope.delete(skill_grants).where(skill_grants.c.skill_id == stem))


def describe_permission(permission: str) -> str:
    """Describe for people what a permission lets the skill do."""
    kind, _, of = permission.partition(":")
    return _SAYS.get(kind, "{}").format(of or kind)


def _apply_answer(scope: Scope, card: Card) -> None:
    """Grant what the card asks for, or refuse its version; nothing if that version waits no more."""
    stem, version_id = str(card.subject["skill_id"]), str(card.subject["version_id"])
    skill = lock_skill(scope, stem)
    version = versions.get_version(scope, version_id)
    if skill.candidate_id != version_id or version.stage != "waiting":
        return
    if card.answer_option == "grant":
        for permission in card.subject["permissions"]:
            _grant(scope, stem, str(permission), card)
        versions.set_stage(scope, version_id, "checked", approved=True)
        touch_skill(scope, skill)
        return
    versions.set_stage(scope, version_id, "refused")
    told = SkillProblem(None, "a person refused what it asks for", "ask for less in its permissions, or ask the person")
    reject_save(scope, skill, version.sha, (told,))


def _covered(permission: str, has: frozenset[str]) -> bool:
    if not permission.startswith(_MODEL):
        return permission in has
    budgets = [Decimal(one.removeprefix(_MODEL)) for one in has if one.startswith(_MODEL)]
    return bool(budgets) and Decimal(permission.removeprefix(_MODEL)) <= max(budgets)


def _grant(scope: Scope, stem: str, permission: str, card: Card) -> None:
    scope.insert_new(
        skill_grants,
        skill_id=stem,
        permission=permission,
        card_id=card.id,
        granted_by=str(card.answered_by),
        at=scope.now,
    )


def _dropped_functions(scope: Scope, skill: Skill, version: CheckedVersion) -> tuple[str, ...]:
    """Return the functions that serve now and that this version no longer has."""
    if not skill.serves or skill.version_id is None:
        return ()
    return versions.dropped_functions(versions.get_version(scope, skill.version_id), version)


def _card_body(skill: Skill, version: CheckedVersion, asked: Sequence[str], gone: Sequence[str]) -> str:
    who = _WHO[version.author]
    lines = [one_line(f"{version.manifest.title}: {version.manifest.purpose}"), ""]
    if asked:
        lines += [
            "It would newly be allowed to:",
            *(f"- {describe_permission(permission)}" for permission in asked),
            "",
        ]
    if gone:
        lines += ["It would no longer have the function:", *(f"- {function}" for function in gone), ""]
    if skill.origin == "shipped" and version.author == "agent":
        lines.append(f"{who} changed {skill.id}, whose file stays as it ships (SHA-256 {version.sha[:12]}).")
    else:
        lines.append(f"{who} wrote {skill.path} (SHA-256 {version.sha[:12]}).")
    if version.reason:
        lines.append(f"Why: {one_line(version.reason)}")
    if (brought := version.stage_facts.get("brought")) is not None:
        why = one_line(brought["reason"]) or "no reason given"
        lines.append(f"It served before; {_WHO[brought['author']].lower()} brings it back: {why}")
    if version.stage_facts.get("rolled_back"):
        lines.append("A person went back from it to an earlier version.")
    return "\n".join(lines)
