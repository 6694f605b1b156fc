"""A broker with a database behind it and skills in front of it that speak through the kit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from core.database import Scope
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.engine import Engine
from core.search.dependencies import SearchDependencies
from core.search.embedders import HashedPieces
from core.search.index import NoIndex
from sidecar.broker.broker import Broker
from sidecar.broker.identity import IdentityMode, SkillIdentity
from sidecar.broker.network.addresses import Addresses, OwnAddress
from sidecar.broker.services.factory import make_broker
from sidecar.broker.services.llm import ModelPrices
from skills.book import grants, refusals, runs
from skills.book.refusals import SkillRefusal
from skills.format.manifest import Permissions, SkillManifest
from skills.kit.door import door
from skills.secrets import SecretFiles
from skills.tables import skill_grants
from tests.support.databases import Store

RUN = "01RUN"


@dataclass
class SkillWorld:
    """The broker and its database; `speak_as` opens a socket for a skill and connects the kit to it."""

    store: Store
    home: Path
    model: ScriptedModel
    broker: Broker
    sockets: list[Path] = field(default_factory=list)

    @property
    def secrets(self) -> SecretFiles:
        return SecretFiles(self.home)

    def identity(
        self,
        stem: str,
        permissions: Mapping[str, Any],
        granted: Sequence[str] | None = None,
        mode: IdentityMode = "live",
    ) -> SkillIdentity:
        """Open the socket of a skill that was granted all that it declares, or only `granted`."""
        manifest = SkillManifest(title="T", purpose="p", permissions=Permissions.model_validate(permissions))
        given = grants.wanted_permissions(manifest) if granted is None else granted
        return SkillIdentity(stem, f"sv_{stem}", "0" * 64, manifest, frozenset(given), mode)

    def socket(self, identity: SkillIdentity) -> Path:
        self.grant(identity.skill_id, identity.granted)
        address = self.home / f"{len(self.sockets)}.sock"
        self.broker.open(identity, address)
        self.sockets.append(address)
        return address

    def speak_as(
        self,
        stem: str,
        *,
        run_id: str = RUN,
        granted: Sequence[str] | None = None,
        mode: IdentityMode = "live",
        known: bool = True,
        **permissions: Any,
    ) -> Path:
        if known:
            self.begin(stem, run_id)
        address = self.socket(self.identity(stem, permissions, granted, mode))
        speak_for(address, run_id)
        return address

    def grant(self, stem: str, permissions: Iterable[str]) -> None:
        """Grant as a person's answer to a card does."""
        with self.store.database.transaction(self.store.workspace_id) as scope:
            for permission in permissions:
                told = {"card_id": "card", "granted_by": self.store.person_id, "at": scope.now}
                scope.insert_new(skill_grants, skill_id=stem, permission=permission, **told)

    def begin(self, stem: str, run_id: str) -> None:
        with self.store.database.transaction(self.store.workspace_id) as scope:
            runs.record_run_start(
                scope,
                run_id=run_id,
                skill_id=stem,
                function_id="fn",
                version_id=f"sv_{stem}",
                stage="live",
                event={"name": "a/b"},
            )

    def refused(self, stem: str) -> list[SkillRefusal]:
        with self.reading() as scope:
            return refusals.list_refusals(scope, stem)

    @contextmanager
    def reading(self) -> Iterator[Scope]:
        with self.store.database.reading(self.store.workspace_id) as scope:
            yield scope


@contextmanager
def skill_world(
    store: Store, home: Path, *, engine_url: str = "http://127.0.0.1:9", own: Sequence[OwnAddress] = ()
) -> Iterator[SkillWorld]:
    """A broker whose model costs one dollar for a million input tokens and two for a million output tokens."""
    home.mkdir(parents=True, exist_ok=True)
    model = ScriptedModel()
    broker = make_broker(
        database=store.database,
        workspace_id=store.workspace_id,
        model=model,
        prices=ModelPrices(Decimal(1), Decimal(2)),
        engine=Engine.at(engine_url),
        home=home,
        addresses=Addresses(own, home),
        search=search_of(store),
    )
    try:
        yield SkillWorld(store, home, model, broker)
    finally:
        broker.stop()
        door.open_at("")
        door.run_id = ""


def search_of(store: Store) -> SearchDependencies:
    """Search by words and spelling only: it is quick, and the same on every machine."""
    return SearchDependencies(store.database, HashedPieces(), NoIndex())


def speak_for(address: Path, run_id: str) -> None:
    """Connect the kit to this socket, on behalf of this run."""
    door.open_at(str(address))
    door.run_id = run_id


def raw(address: Path) -> httpx.Client:
    """Send any request to the socket, as a skill could without the kit."""
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(address)), base_url="http://broker", timeout=30)
