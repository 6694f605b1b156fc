"""A skill version that was checked, and a skill as others see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sidecar.children import Version
from skills.manifest import Manifest
from skills.problem import Problem


@dataclass(frozen=True)
class Serving:
    """A version that was loaded once, as it is or will be registered. `number` is None until the engine took it."""

    version: Version
    manifest: Manifest
    functions: tuple[dict[str, Any], ...]
    number: int | None = None


@dataclass(frozen=True)
class Shown:
    """A skill as others see it."""

    stem: str
    status: str
    serving: Serving | None
    source: str
    problems: tuple[Problem, ...]
