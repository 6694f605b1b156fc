"""How the pages say things."""

STATUSES = ("QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED")

_KINDS = {
    "Sleep": "sleep",
    "WaitForEvent": "wait for event",
    "InvokeFunction": "invoke",
    "AIGateway": "AI inference",
}


def duration(ms: int) -> str:
    """`850 ms`, `3.2 s`, `2 min 5 s`, `3 h 4 min`, `2 d 3 h`."""
    if ms < 1000:
        return f"{max(ms, 0)} ms"
    if ms < 60_000:
        return f"{ms / 1000:.3g} s" if ms < 59_950 else "1 min"
    for unit, name, part, part_name in (
        (86_400_000, "d", 3_600_000, "h"),
        (3_600_000, "h", 60_000, "min"),
        (60_000, "min", 1000, "s"),
    ):
        if ms >= unit:
            whole, rest = divmod(ms, unit)
            return f"{whole} {name}" + (f" {rest // part} {part_name}" if rest >= part else "")
    raise AssertionError(ms)


def size(characters: int) -> str:
    """A length of text, roughly in bytes."""
    if characters < 1024:
        return f"{characters} B"
    return f"{characters / 1024:.3g} KiB" if characters < 1024 * 1024 else f"{characters / 1024 / 1024:.3g} MiB"


def kind_of(op: str) -> str:
    """What a step does."""
    return _KINDS.get(op, "run")
