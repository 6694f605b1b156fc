"""A process and all below it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


def family(pid: int) -> Iterator[tuple[int, list[Path]]]:
    """Each by its number, with the folders of its threads; of one that ends meanwhile, those that were seen."""
    members = [pid]
    for member in members:
        tasks: list[Path] = []
        with contextlib.suppress(OSError, ValueError):
            for task in Path(f"/proc/{member}/task").iterdir():
                tasks.append(task)
                members += [int(child) for child in task.joinpath("children").read_text().split()]
        yield member, tasks
