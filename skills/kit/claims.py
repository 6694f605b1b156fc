"""Claims: let one run at a time hold a key."""

from __future__ import annotations

from skills.kit.door import door


def claim(key: str, *, minutes: float = 60) -> bool:
    """Claim `key` for this run; return False while another run holds it, True again for the holder.

        if not ctx.step.run("claim", lambda: claim(f"triage:{service}")):
            return "another run is at it"

    Each skill has its own keys. A claim ends with `release`, with its run, or after `minutes` (at most a week).
    """
    return bool(door.ask("claim", "/claim", {"key": key, "minutes": minutes})["held"])


def release(key: str, *, run_id: str | None = None) -> bool:
    """Release a claim; return whether there was one.

    Only the run that holds it can; an `on_failure` handler names the failed run: `run_id=ctx.event.data["run_id"]`.
    """
    return bool(door.ask("release", "/release", {"key": key, "run_id": run_id})["released"])
