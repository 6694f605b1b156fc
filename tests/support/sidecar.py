"""The sidecar as a process of its own, beside an engine, with a home to save skills in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from app.bootstrap import PERSON_ID, ensure_home
from app.schema_upgrade import upgrade_schema
from app.supervision.ports import free_ports
from app.web.presenters.skills.skill import skill_shape
from core.clock import SystemClock
from core.database import Database, Scope
from core.identity import HOME_WORKSPACE
from core.orchestrator.engine import Engine
from core.orchestrator.run_history import RunHistory
from core.settings import Settings, load_settings
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from skills.book import skill
from skills.card_answers import SKILL_CARD_ANSWERS
from tests.support.engines import RunningEngine
from tests.support.environment import without_settings
from tests.support.template import ForkedProcess, loaded_product
from tests.support.waiting import until

HELLO = '''"""Answers {event} events."""
import inngest
from skills.kit import client

MANIFEST = {{"title": "Hello", "purpose": "answers {event}", "permissions": {{"events": {{"listen": ["{event}"]}}}}}}
VALUE = {value}

@client.create_function(fn_id="hello", trigger=inngest.TriggerEvent(event="{event}"), retries=2)
def hello(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("answer", lambda: VALUE)
'''


def hello(value: int, event: str = "hello/asked") -> str:
    return HELLO.format(value=value, event=event)


@dataclass
class RunningSidecar:
    engine: RunningEngine
    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: ForkedProcess | None = None
    jail: Path | None = None
    """Return the folder of its children's folders, if it is known: that depends on how they are isolated."""
    made_at: datetime = field(default_factory=SystemClock().now)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def folder(self) -> Path:
        return self.home / "workspace" / "functions"

    @property
    def log(self) -> str:
        return (self.home / "sidecar.log").read_text()

    @property
    def settings(self) -> Settings:
        return load_settings(home=self.home)

    @cached_property
    def database(self) -> Database:
        return Database(self.settings.sql_url)

    @property
    def client(self) -> Engine:
        return self.engine.client

    @property
    def history(self) -> RunHistory:
        return RunHistory(self.engine.url, self.engine.signing_key)

    def start(self) -> None:
        self.prepare()
        told = ["serve", "sidecar", "--home", str(self.home), "--port", str(self.port)]
        keyed = self.engine.signing_key is not None
        env = {"INNGEST_DEV": "0" if keyed else self.engine.url, "INNGEST_BASE_URL": self.engine.url}
        if keyed:
            env["INNGEST_SIGNING_KEY"] = str(self.engine.signing_key)
            env["INNGEST_EVENT_KEY"] = str(self.engine.event_key)
        with (self.home / "sidecar.log").open("ab") as log:
            self.process = loaded_product().start(told, {**without_settings(), **env, **self.env}, log.fileno())
        until("the sidecar", self.is_ready, 60)

    def prepare(self) -> None:
        """Prepare the home as `loopwright up` does before it starts the sidecar."""
        self.folder.mkdir(parents=True, exist_ok=True)
        upgrade_schema(self.settings)
        ensure_home(self.settings)

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log[-2000:]
        try:
            return httpx.get(self.url + "/readyz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            # A call that is under way is waited for longer than a test has time.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            self.kill()

    def close(self) -> None:
        self.stop()
        self.database.close()

    def save(self, stem: str, text: str) -> None:
        """Save as most tools do: write another file and rename it."""
        unfinished = self.folder / f".{stem}.tmp"
        unfinished.write_text(text)
        os.replace(unfinished, self.folder / f"{stem}.py")

    def reading(self) -> AbstractContextManager[Scope]:
        return self.database.reading(HOME_WORKSPACE)

    def writing(self) -> AbstractContextManager[Scope]:
        """Move a skill in the book, as another process would."""
        return self.database.transaction(HOME_WORKSPACE)

    def skill(self, stem: str) -> dict[str, Any]:
        """Return a skill as the API shows it; empty where it is unknown."""
        with self.reading() as scope:
            found = skill.find_skill(scope, stem)
            return {**skill_shape(scope, found)} if found is not None else {}

    def live(self, stem: str, version: int, seconds: float = 60) -> dict[str, Any]:
        """Wait for a version to serve."""

        def look() -> dict[str, Any]:
            skill = self.skill(stem)
            return skill if (skill.get("status"), skill.get("version")) == ("active", version) else {}

        try:
            return until(f"version {version} of {stem}", look, seconds, 0.02)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.skill(stem)}") from None

    def answer(self, stem: str, option: str) -> dict[str, Any]:
        """Wait for the one open card about a skill, answer it and return its subject."""

        def open_ones() -> list[cards.Card]:
            with self.reading() as scope:
                return [card for card in cards.list_open_cards(scope) if card.subject.get("skill_id") == stem]

        try:
            (card,) = until(f"a card about {stem}", open_ones, 60)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.skill(stem)}") from None
        with self.writing() as scope:
            answer_card(scope, card.id, option, None, PERSON_ID, CardAnswers(SKILL_CARD_ANSWERS))
        return dict(card.subject)

    def ask(self, event: str, **data: Any) -> None:
        self.client.send(event, data)

    def runs(self, function: str) -> list[dict[str, Any]]:
        """Return the runs of a function with their outputs, oldest first."""
        # Others may have had a skill of that name on a server that is not ours.
        since = None if self.engine.is_ours else self.made_at.isoformat()
        found = self.history.list(function=function, since=since)["items"]
        return [self.history.get(run["id"]) for run in reversed(found)]

    def outputs(self, function: str, count: int, seconds: float = 40) -> list[Any]:
        """Wait until so many runs have completed; none may have failed."""

        def look() -> list[Any]:
            runs = self.runs(function)
            assert all(run["status"] != "failed" for run in runs), runs
            done = [run["output"] for run in runs if run["status"] == "completed" and run["output"] is not None]
            return done if len(done) >= count else []

        return until(f"{count} runs of {function}", look, seconds, 0.2)

    def children(self) -> list[int]:
        """Return the processes that this sidecar started for skills, the spare one included, without their children."""
        assert self.process is not None
        listing = subprocess.run(
            ["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True
        ).stdout
        found = [line.split(None, 2) for line in listing.splitlines()[1:]]
        workers = {pid for pid, parent, _ in found if parent == str(self.process.pid)}
        return [int(pid) for pid, parent, args in found if parent in workers and "-m sidecar.child" in args]


@contextmanager
def sidecar(engine: RunningEngine, home: Path, env: Mapping[str, str] | None = None) -> Iterator[RunningSidecar]:
    home.mkdir(parents=True, exist_ok=True)
    running = RunningSidecar(engine, home, env or {})
    running.start()
    try:
        yield running
    finally:
        running.close()
