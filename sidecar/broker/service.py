"""The port of a broker service: who asks, what a service must do, and how an effect is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from core.database import Scope
from sidecar.broker.identity import SkillIdentity
from sidecar.broker.requests import BrokerRequest

A_contra = TypeVar("A_contra", bound=BrokerRequest, contravariant=True)
ServiceAnswer = dict[str, Any]
OpenTransaction = Callable[[str], AbstractContextManager[Scope]]
OpenReading = Callable[[], AbstractContextManager[Scope]]


@dataclass(frozen=True)
class Asker:
    """The skill version that asks, and for which of its runs."""

    identity: SkillIdentity
    run_id: str

    @property
    def stem(self) -> str:
        return self.identity.skill_id


class BrokerService(Protocol[A_contra]):
    """Performs one kind of request. Each method raises RequestDenied or RequestFailed."""

    def check(self, asker: Asker, request: A_contra) -> None:
        """Check whether the skill may ask this; changes nothing."""
        ...

    def has_effect(self, request: A_contra) -> bool:
        """Return whether performing it changes anything that others can see."""
        ...

    def do(self, asker: Asker, request: A_contra) -> ServiceAnswer:
        """Perform the request."""

    def simulate(self, asker: Asker, request: A_contra) -> ServiceAnswer:
        """Return an answer as if the request had been performed."""
        ...


def effect_key(asker: Asker, kind: str, key: str | None, words: Mapping[str, Any]) -> str:
    """Return the key of an effect; effects with the same key are performed once.

    A key that the skill gives is valid in all its runs. Without one, equal content is the same effect within one run.
    """
    parts: list[Any] = [asker.stem, "key", key] if key is not None else [asker.stem, "run", asker.run_id, words]
    return f"skill:{kind}:{json_digest(parts)[:40]}"


def json_digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value; the order of object members does not matter."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
