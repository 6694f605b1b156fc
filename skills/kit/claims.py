"""One at a time: a claim is a row that one run holds."""

from __future__ import annotations

from skills.kit.door import door


def claim(key: str, *, minutes: float = 60) -> bool:
    """Whether this run holds `key` now; True again for the run that holds it already.

        if not ctx.step.run("claim", lambda: claim(f"triage:{service}")):
            return "somebody is at it"

    A claim is the skill's own, so another skill's of the same key is another. It ends with `release`, with its run, or
    after `minutes` (at most a week).
    """
    return bool(door.ask("claim", "/claim", {"key": key, "minutes": minutes})["held"])


def release(key: str, *, run_id: str | None = None) -> bool:
    """Give up a claim; tells whether there was one.

    Only the run that holds it can; an `on_failure` handler names the failed run: `run_id=ctx.event.data["run_id"]`.
    """
    return bool(door.ask("release", "/release", {"key": key, "run_id": run_id})["released"])
