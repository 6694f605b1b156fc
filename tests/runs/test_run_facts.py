"""Steps of a run that goes on, as the embedded engine's trace tells them."""

from __future__ import annotations

from typing import Any

from core.orchestrator.run_facts import read_steps

ERROR = {"name": "ValueError", "message": "this never works", "stack": "…"}


def tried(status: str, *outputs: dict[str, Any] | None, ended: str | None = None, output: Any = None) -> dict[str, Any]:
    """A step with its attempts; an attempt without an output runs."""
    attempts = [
        {"name": f"Attempt {n}", "status": "RUNNING"}
        if said is None
        else {"name": f"Attempt {n}", "status": "FAILED", "output": said}
        for n, said in enumerate(outputs)
    ]
    span = {
        "name": "never",
        "stepId": "s1",
        "status": status,
        "startedAt": "2030-01-01T00:00:00Z",
        "children": attempts,
    }
    return {"children": [{**span, "endedAt": ended, "output": output}]}


def test_a_step_that_is_tried_again_says_why() -> None:
    (waiting,) = read_steps(tried("RUNNING", {**ERROR, "message": "at first"}, ERROR))
    (running,) = read_steps(tried("RUNNING", ERROR, None))

    assert (waiting.attempts, waiting.error, waiting.ended_at) == (2, ERROR, None)
    assert (running.attempts, running.error, running.output) == (2, ERROR, None)


def test_a_step_that_succeeded_at_last_has_no_error() -> None:
    (step,) = read_steps(tried("COMPLETED", ERROR, ended="2030-01-01T00:01:00Z", output={"x": 1}))

    assert (step.attempts, step.error, step.output) == (1, None, {"x": 1})
