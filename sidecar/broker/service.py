"""The port of a broker service: who asks, what it must do, and how an effect is named."""

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


@dataclass(frozen=True)
class Asker:
    """Who asks, and for which of its runs."""

    identity: SkillIdentity
    run_id: str

    @property
    def stem(self) -> str:
        return self.identity.skill_id


class BrokerService(Protocol[A_contra]):
    """One kind of request. Each method raises Denied or Failed."""

    def check(self, asker: Asker, ask: A_contra) -> None:
        """Whether the skill may ask this; changes nothing."""
        ...

    def has_effect(self, ask: A_contra) -> bool:
        """Whether doing it changes anything that somebody else can see."""
        ...

    def do(self, asker: Asker, ask: A_contra) -> ServiceAnswer: ...

    def pretend(self, asker: Asker, ask: A_contra) -> ServiceAnswer:
        """An answer as if it had been done."""
        ...


def effect_key(asker: Asker, kind: str, key: str | None, words: Mapping[str, Any]) -> str:
    """The name of an effect: the same is done once.

    A key that the skill gave counts in all its runs; without one the words count in this run.
    """
    said: list[Any] = [asker.stem, "key", key] if key is not None else [asker.stem, "run", asker.run_id, words]
    return f"skill:{kind}:{json_digest(said)[:40]}"


def json_digest(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its members."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


OpenTransaction = Callable[[str], AbstractContextManager[Scope]]
OpenReading = Callable[[], AbstractContextManager[Scope]]
