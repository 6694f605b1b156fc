"""The pages of skills: all, and a single one with source, versions, permissions, schedule and runs."""

from __future__ import annotations

from typing import Any

from flask import request

from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.skill_chart import draw_runs_chart
from app.web.pages.view import add_page
from app.web.presenters.card import card_shape
from app.web.presenters.skills.account import repair_request, version_to_compare, wanted_permissions
from app.web.presenters.skills.review import review_shape
from app.web.presenters.skills.skill import run_shapes, skill_shape, skill_version_shape
from app.web.presenters.values import moment
from core.database import Scope
from core.identity import Speaker
from runtime.cards import cards
from skills.book import refusals, run_days, versions
from skills.book.skill import Skill, get_skill, list_skills
from skills.book.versions import CheckedVersion
from skills.review import reviews

_RUNS, _REFUSALS, _REVIEWS = 8, 10, 4


def skills_pages(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "skills_pages")
    add_page(endpoints, "/skills", "skills.html", _list_skills)
    add_page(endpoints, "/skills/<skill_id>", "skill.html", _show_skill)
    return endpoints


def _list_skills(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    found = list_skills(scope)
    return {
        "skills": [skill_shape(scope, skill) for skill in found if skill.status != "retired"],
        "retired": [skill.id for skill in found if skill.status == "retired"],
    }


def _show_skill(scope: Scope, speaker: Speaker, skill_id: str) -> dict[str, Any]:
    skill = get_skill(scope, skill_id)
    every = versions.list_versions(scope, skill_id)
    looked_at = _version_to_show(skill, every)
    return {
        "skill": skill_shape(scope, skill),
        "versions": [skill_version_shape(scope, one) for one in every],
        "looked_at": None if looked_at is None else _with_source(scope, looked_at),
        "wants": wanted_permissions(scope, looked_at),
        "wish": repair_request(scope, skill),
        "chart": draw_runs_chart(run_days.count_runs_by_day(scope, skill_id, scope.read_time_zone())),
        "runs": run_shapes(scope, skill_id, _RUNS),
        "refused": [
            {"what": one.what, "detail": one.detail, "at": moment(one.at)}
            for one in refusals.list_refusals(scope, skill_id, _REFUSALS)
        ],
        "reviews": [review_shape(one) for one in reviews.list_reviews(scope, skill_id, _REVIEWS)],
        "cards": [
            card_shape(card) for card in cards.list_open_cards(scope) if card.subject.get("skill_id") == skill_id
        ],
    }


def _version_to_show(skill: Skill, every: list[CheckedVersion]) -> CheckedVersion | None:
    """Return the version in the query, else the candidate, else the active one."""
    requested = _requested_number("version")
    for version in every:
        if version.number == requested:
            return version
    default_id = skill.candidate_id or skill.version_id
    return next((version for version in every if version.id == default_id), None)


def _with_source(scope: Scope, version: CheckedVersion) -> dict[str, Any]:
    before = version_to_compare(scope, version, _requested_number("against"))
    return {
        **skill_version_shape(scope, version),
        "source": version.source,
        "against": before.number if before is not None else None,
        "diff": [_diff_line(line) for line in versions.diff_versions(before, version).splitlines()]
        if before is not None
        else [],
    }


def _requested_number(name: str) -> int | None:
    """Return a version's number from the query; None if it has none."""
    requested = request.args.get(name, "")
    return int(requested) if requested.isascii() and requested.isdigit() and len(requested) < 9 else None


def _diff_line(line: str) -> tuple[str, str]:
    """Return a line of a diff with its kind, which decides its colour."""
    if line.startswith(("+++", "---", "@@")):
        return ("about", line)
    return ({"+": "added", "-": "removed"}.get(line[:1], "same"), line)
