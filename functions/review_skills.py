"""Durable function that reviews skills, every week and on request."""

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
"""Fridays at ten, in the configured time zone."""
AT_ONCE = 4
"""Steps of reviews that may run at the same time, since each may ask the model."""
ReviewStep = Callable[[ReviewDependencies, str, str], str]


def review_skills(
    client: inngest.Inngest, dependencies: ReviewDependencies, timezone: str
) -> inngest.Function[list[str]]:
    """Triggers: weekly, and `skill/review.requested`. Steps: `begin`; per skill `gather-<n>`, `judge-<n>`, `act-<n>`.

    Returns the outcome of each review, in the order of the skills; a review that fails does not stop the others. At
    most `AT_ONCE` steps of all reviews run at the same time.
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
        workspace_id, skill_id = _parse_request(ctx.event)
        begun = ctx.step.run(
            "begin", as_step(partial(begin_reviews, dependencies.database, workspace_id, ctx.run_id, skill_id))
        )
        reviews = [str(one) for one in begun] if isinstance(begun, list) else []
        return [_review(ctx, dependencies, workspace_id, n, review_id) for n, review_id in enumerate(reviews, start=1)]

    return handler


def _parse_request(event: inngest.Event) -> tuple[str, str]:
    """Return the workspace and the skill of a request; the schedule means every skill of the home workspace."""
    if event.name != SkillReviewRequested.name:
        return HOME_WORKSPACE, ""
    request = parse_event(SkillReviewRequested, event)
    return request.workspace_id or HOME_WORKSPACE, request.skill_id


def _review(
    ctx: inngest.ContextSync, dependencies: ReviewDependencies, workspace_id: str, n: int, review_id: str
) -> str:
    first_steps: tuple[tuple[str, ReviewStep], ...] = (("gather", steps.gather_facts), ("judge", steps.judge_review))
    try:
        for name, step in first_steps:
            ctx.step.run(f"{name}-{n}", as_step(partial(step, dependencies, workspace_id, review_id)))
        return str(
            ctx.step.run(f"act-{n}", as_step(partial(steps.act_on_review, dependencies, workspace_id, review_id)))
        )
    except inngest.StepError:
        # The review keeps its state; the watch rings for it again.
        return "failed"
