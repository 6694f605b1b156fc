"""Alarms of a skill: questions that its runs, or runs they invoked, put to people, and the answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from core.database import Scope
from runtime.statuses import CardKind
from runtime.tables import cards
from skills.book import outcomes, runs
from skills.book.outcomes import SkillOutcome
from skills.book.runs import SkillRun
from skills.review.facts import Alarm, answer_meaning
from skills.review.text import text_in
from skills.tables import skill_outcomes


def invoking_run_id(event: Mapping[str, Any]) -> str | None:
    """Return the id of the run that invoked a run; None if an event or a schedule began it.

    Engines name the invoking function differently, so look up its skill in the row of that run.
    """
    data = event.get("data")
    told = data.get("_inngest") if isinstance(data, Mapping) else None
    return text_in(told, "correlation_id").partition(".")[0] or None


IGNORED_AFTER = timedelta(days=1)
"""A question without an answer for this long counts as ignored."""
MOST_ALARMS = 1000


def list_alarms(scope: Scope, stem: str, version_id: str, since: datetime) -> list[Alarm]:
    """List the alarms that this version of the skill raised since then, newest first.

    When one skill invokes another, the alarm belongs to the first, which decided that something needs attention.
    """
    asked = {str(row.id): row for row in _questions(scope, since)}
    told = _list_told_outcomes(scope, since)
    answers = {str(one.facts.get("card_id")): one for one in told if one.facts.get("card_id")}
    found: list[Alarm] = []
    for card_id, row in asked.items():
        run = _raised_by(scope, row.subject.get("run_id"), stem, version_id)
        if run is not None:
            found.append(_as_alarm(card_id, run, row.created_at, answers.get(card_id), scope.now))
    for one in told:
        if str(one.facts.get("card_id")) in asked:
            continue
        run = _raised_by(scope, one.run_id, stem, version_id)
        if run is not None:
            found.append(_as_alarm(one.id, run, one.at, one, scope.now))
        elif one.run_id is None and one.skill_id == stem:
            # An incident that no run noticed, reported afterwards.
            found.append(Alarm(ref=one.id, run_id="", at=one.at, said=one.value, meaning=answer_meaning(one.value)))
    return sorted(found, key=lambda alarm: alarm.at, reverse=True)


def _questions(scope: Scope, since: datetime) -> list[Any]:
    query = scope.select(cards.c.id, cards.c.subject, cards.c.created_at).where(
        cards.c.kind == CardKind.CHOICE, cards.c.task_id.is_(None), cards.c.created_at >= since
    )
    return scope.rows(query.order_by(cards.c.created_at.desc()).limit(MOST_ALARMS))


def _list_told_outcomes(scope: Scope, since: datetime) -> list[SkillOutcome]:
    query = scope.select(skill_outcomes.c.skill_id).where(skill_outcomes.c.at >= since).distinct()
    return [one for row in scope.rows(query) for one in outcomes.list_outcomes(scope, row.skill_id, since, MOST_ALARMS)]


def _raised_by(scope: Scope, run_id: object, stem: str, version_id: str) -> SkillRun | None:
    """Return the run that asked, if the alarm belongs to this version."""
    asked = runs.find_run(scope, run_id) if isinstance(run_id, str) else None
    if asked is None:
        return None
    by = invoking_run_id(asked.event)
    first = runs.find_run(scope, by) if by is not None else None
    if first is not None and first.skill_id != asked.skill_id:
        return asked if first.skill_id == stem and first.version_id == version_id else None
    return asked if asked.skill_id == stem and asked.version_id == version_id else None


def _as_alarm(ref: str, run: SkillRun, at: datetime, told: SkillOutcome | None, now: datetime) -> Alarm:
    return Alarm(
        ref=ref,
        run_id=run.run_id,
        at=at,
        said=told.value if told is not None else "",
        meaning=answer_meaning(told.value) if told is not None else None,
        ignored=told is None and at < now - IGNORED_AFTER,
        measured=_measured(run.output),
    )


def _measured(output: Any) -> float | None:
    """Return the number `measured` of a run's output, if there is one."""
    value = output.get("measured") if isinstance(output, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
