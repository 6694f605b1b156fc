"""The table of a chaos run, for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.chaos.run import Chaos


def table(chaos: Chaos) -> str:
    found = chaos.audit
    rows = [
        ("messages", found.messages),
        ("tasks", found.tasks),
        ("  with generations", found.generating),
        ("decisions", found.decisions),
        ("model calls", found.model_calls),
        ("repeated before stored", found.repeated_before),
        ("repeated after stored", len(found.repeated_after)),
        ("jobs", found.jobs),
        ("charges", found.charges),
        ("unresolved, and said so", found.unresolved),
        ("lost", len(found.lost)),
        ("doubled", len(found.doubled)),
    ]
    kills = ", ".join(f"{name} {n}" for name, n in sorted(chaos.kills.items()) if n)
    head = [
        *(f"REPEATED {what}" for what in found.repeated_after),
        *(f"LOST {what}" for what in found.lost),
        *(f"DOUBLED {what}" for what in found.doubled),
        f"seed {chaos.seed}: {chaos.seconds:.0f} s of chaos, at rest {chaos.quiet_after:.0f} s later",
        f"killed {chaos.kills.total()} ({kills}); {chaos.faults.total()} faults of the studio",
    ]
    return "\n".join([*head, *(f"{name:<24}{n:>5}" for name, n in rows)])


def as_json(chaos: Chaos) -> dict[str, object]:
    told = {"seed": chaos.seed, "seconds": chaos.seconds, "quiet_after_seconds": round(chaos.quiet_after, 1)}
    return {**told, "kills": dict(chaos.kills), "faults": dict(chaos.faults), **chaos.audit.as_json()}


def write(chaos: Chaos, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_json(chaos), indent=1) + "\n")
