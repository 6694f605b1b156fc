"""Durable function that reviews skills every week."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import inngest

from core.events import SkillReviewRequested
from core.identity import HOME_WORKSPACE
from functions.shell import as_step, parse_event
from skills.review import steps
from skills.review.dependencies import ReviewDependencies
from skills.review.reviews import begin_reviews

WEEKLY = "0 10 * * 5"
"""Fridays at ten, in the zone of the workspace."""
AT_ONCE = 4
"""Steps of reviews at one moment: each may ask the model."""
ReviewStep = Callable[[ReviewDependencies, str, str], str]


def review_skills(
    client: inngest.Inngest, dependencies: ReviewDependencies, timezone: str
) -> inngest.Function[list[str]]:
    """Triggers: weekly, and `skill/review.requested`. Steps: `begin`; `gather-<n>`, `judge-<n>`, `act-<n>` a skill.

    Answers what became of each review, in the order of the skills; one that fails keeps no other from its own. Where
    there are more skills than one run takes, the others' runs wait until few are at work.
    """

    @client.create_function(
        fn_id="review-skills",
        trigger=[
            inngest.TriggerCron(cron=f"TZ={timezone} {WEEKLY}"),
            inngest.TriggerEvent(event=SkillReviewRequested.name),
        ],
        retries=5,
        concurrency=[inngest.Concurrency(limit=AT_ONCE)],
    )
    def handler(ctx: inngest.ContextSync) -> list[str]:
        where, skill_id = _parse_request(ctx.event)
        begun = ctx.step.run(
            "begin", as_step(partial(begin_reviews, dependencies.database, where, ctx.run_id, skill_id))
        )
        reviews = [str(one) for one in begun] if isinstance(begun, list) else []
        return [_review(ctx, dependencies, where, n, review_id) for n, review_id in enumerate(reviews, start=1)]

    return handler


def _parse_request(event: inngest.Event) -> tuple[str, str]:
    """Workspace and skill; the schedule, and a bell that names none, mean every skill of the home."""
    if event.name != SkillReviewRequested.name:
        return HOME_WORKSPACE, ""
    asked = parse_event(SkillReviewRequested, event)
    return asked.workspace_id or HOME_WORKSPACE, asked.skill_id


def _review(ctx: inngest.ContextSync, dependencies: ReviewDependencies, where: str, n: int, review_id: str) -> str:
    halves: tuple[tuple[str, ReviewStep], ...] = (("gather", steps.gather_facts), ("judge", steps.judge_review))
    try:
        for name, half in halves:
            ctx.step.run(f"{name}-{n}", as_step(partial(half, dependencies, where, review_id)))
        return str(ctx.step.run(f"act-{n}", as_step(partial(steps.act_on_review, dependencies, where, review_id))))
    except inngest.StepError:
        # The review stands where it stood; the watch rings for it again.
        return "failed"
