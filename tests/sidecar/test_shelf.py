"""The sidecar's housekeeping, in this process so that its pauses can be short."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from app.supervise.ports import free_ports
from core.clock import SystemClock
from core.orchestrator.engine import Engine, bearer
from sidecar.application import create_app
from sidecar.ledger import Ledger
from sidecar.shelf import Shelf, ShelfConfig
from sidecar.state import read_state
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until
from tests.support.wsgi import serving

NAP = hello(1, "cancelled/asked").replace("    return", '    ctx.step.sleep("nap", 3600 * 1000)\n    return')


@contextmanager
def shelf_beside(engine: RunningEngine, home: Path) -> Iterator[RunningSidecar]:
    port = free_ports(1)[0]
    client, clock = Engine.at(engine.url, engine.signing_key, engine.event_key), SystemClock()
    url, folder = f"http://127.0.0.1:{port}", home / "workspace" / "functions"
    folder.mkdir(parents=True)
    quick = ShelfConfig((folder,), home / "sidecar", url, client, clock, quiet=timedelta(seconds=1), housekeeping=0.2)
    shelf = Shelf(quick)
    with serving(create_app(shelf, client, clock), port):
        shelf.start()
        try:
            yield RunningSidecar(engine, home, port=port)
        finally:
            shelf.stop()


@pytest.mark.parametrize("any_engine", ["embedded"], indirect=True)
def test_a_cancelled_run_lets_its_version_go(any_engine: RunningEngine, tmp_path: Path) -> None:
    with shelf_beside(any_engine, tmp_path / "home") as skills:
        skills.save("cancelled", NAP)
        old = skills.live("cancelled", 1)["hash"]
        skills.ask("cancelled/asked")
        run = until("the run", lambda: skills.history.list(function="skill-cancelled/hello")["items"])[0]
        ledger = Ledger(skills.home / "sidecar" / "sidecar.sqlite")
        until("its pin", lambda: ledger.is_pinned("cancelled", old))
        skills.save("cancelled", hello(2, "cancelled/asked"))
        skills.live("cancelled", 2)
        assert ledger.is_pinned("cancelled", old)

        shown = {"authorization": bearer(str(any_engine.signing_key))}
        httpx.delete(f"{any_engine.url}/v1/runs/{run['id']}", headers=shown).raise_for_status()
        until("the pin gone", lambda: not ledger.is_pinned("cancelled", old), 20)
        ledger.close()


@pytest.mark.parametrize("any_engine", ["embedded"], indirect=True)
def test_a_failed_run_lets_its_version_go_at_once(any_engine: RunningEngine, tmp_path: Path) -> None:
    with shelf_beside(any_engine, tmp_path / "home") as skills:
        skills.save("fails", hello(1, "fails/asked").replace("lambda: VALUE", "lambda: 1 / 0").replace("=2", "=0"))
        sha = skills.live("fails", 1)["hash"]
        skills.ask("fails/asked")
        until("the end", lambda: [r["status"] for r in skills.runs("skill-fails/hello")] == ["failed"])
        ledger = Ledger(skills.home / "sidecar" / "sidecar.sqlite")
        until("the pin gone", lambda: not ledger.is_pinned("fails", sha))
        ledger.close()


def test_the_state_is_empty_before_the_sidecar_ever_ran(tmp_path: Path) -> None:
    assert read_state(tmp_path) == []
    assert os.listdir(tmp_path) == []
