"""How acts write: a named transaction in the home's workspace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from core.database import Scope

Transaction = Callable[[str], AbstractContextManager[Scope]]
Reading = Callable[[], AbstractContextManager[Scope]]
