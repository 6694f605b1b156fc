"""`loopwright up` on the whole product: one command starts everything, keeps it alive and takes it all away."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.supervision.home_state import ProcessState, read_rows
from app.supervision.ports import is_free
from tests.support.product import Product
from tests.support.template import COMMAND
from tests.support.waiting import until

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=[\w.~-]+")
OURS = {"web", "worker", "sidecar", "model", "studio", "index"}


@pytest.fixture(scope="module")
def product(products: Callable[..., Product]) -> Product:
    """A program of its own, as a person starts it."""
    return products(program=COMMAND)


def names(product: Product) -> set[str]:
    """The engine is among them only when it is the embedded one."""
    return OURS | ({"engine"} if product.engine == "embedded" else set())


def test_it_prints_one_line_for_each_process_and_then_the_address(product: Product) -> None:
    *lines, last = product.said.splitlines()

    assert {line.split()[0] for line in lines} == names(product)
    assert len(lines) == len(names(product))
    assert ADDRESS.fullmatch(last)


def test_ps_lists_every_process(product: Product) -> None:
    # The index is started some seconds after the address is told.
    until("the index", lambda: product.row("index").state is ProcessState.RUNNING)
    rows = read_rows(product.home) or []

    assert {row.name for row in rows} == names(product)
    assert all(row.state is ProcessState.RUNNING for row in rows)
    assert len({row.port for row in rows}) == len(rows)
    assert product.command("ps").status == 0


def test_the_token_of_the_address_is_a_key_with_all_scopes(product: Product) -> None:
    (key,) = [key for key in product.items("/api/v1/keys") if key["speaks_as"] == "person"]

    assert set(key["scopes"]) == {"read", "write", "approve", "admin"}


def test_the_token_is_in_no_log_and_on_no_command_line(product: Product) -> None:
    assert product.token not in product.logs(lines=100_000)
    for row in read_rows(product.home) or []:
        assert product.token not in Path(f"/proc/{row.pid}/cmdline").read_text()


def test_what_it_keeps_is_its_owners_alone(product: Product) -> None:
    for name in ("keys", "logs"):
        assert (product.home / name).stat().st_mode & 0o077 == 0
    assert all(key.stat().st_mode & 0o077 == 0 for key in (product.home / "keys").iterdir())


def test_doctor_finds_nothing_wrong(product: Product) -> None:
    found = product.command("doctor")

    assert found.status == 0, found.out


def test_a_second_up_of_the_home_is_refused(product: Product) -> None:
    done = product.command("up", "--port", "0")

    assert done.status == 1
    assert "is in use by another `loopwright up`" in done.err


def test_a_restore_into_a_home_in_use_is_refused(product: Product, tmp_path: Path) -> None:
    assert product.command("backup", str(tmp_path / "home.backup")).status == 0

    done = product.command("restore", str(tmp_path / "home.backup"))

    assert done.status == 1
    assert "is in use" in done.err


@pytest.mark.kill
@pytest.mark.parametrize("name", ["engine", "web", "worker", "sidecar", "model", "studio", "index"])
def test_a_process_that_is_killed_comes_back_on_its_port(product: Product, name: str) -> None:
    if name not in names(product):
        pytest.skip(f"{name} is not ours here")
    before = product.row(name)

    product.kill(name)

    assert product.row(name).port == before.port
    assert product.row(name).pid != before.pid
    product.until("the API again", lambda: product.client.get("/api/v1/tasks").status_code == 200)


@pytest.mark.kill
def test_everything_dies_with_a_supervisor_that_is_killed(products: Callable[..., Product]) -> None:
    product = products(program=COMMAND)
    group, ports = product.process.pid, [row.port for row in read_rows(product.home) or []]

    os.kill(group, signal.SIGKILL)
    product.process.wait(10)

    until("the end of every process", lambda: not members(group))
    # A process counts as ended with its first thread; its sockets close with the last.
    until("every port free", lambda: all(is_free(port) for port in ports))
    assert product.command("ps").status == 1


@pytest.mark.kill
def test_it_stops_at_ctrl_c_and_starts_again_in_the_same_home(products: Callable[..., Product]) -> None:
    first = products(program=COMMAND)
    message = first.say("Which video lengths can you do?")
    first.until("a watch", lambda: first.items("/api/v1/runs", function="watch"), 90)
    group = first.process.pid

    assert first.stop() == 0

    assert not members(group)
    assert "ended with" not in first.said
    second = products(first.home, program=COMMAND)
    assert second.token == first.token
    assert second.get(f"/api/v1/messages/{message}")["state"] in {
        "received",
        "routed",
        "delivered",
        "consumed",
        "answered",
    }
    if second.engine == "embedded":
        # What was under way when it stopped finds nobody at first, which is no failure that people are told of. A
        # server that is given by its address goes on calling meanwhile, and how long it tries is its own affair.
        assert second.items("/api/v1/runs", status="failed") == []


def members(group: int) -> list[int]:
    """The living processes of a process group; one that has ended and waits to be asked for is not living."""
    listing = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [int(pid) for pid, pgid, state in rows if int(pgid) == group and not state.startswith("Z")]


@pytest.mark.load
def test_it_works_from_any_folder_whatever_lies_there(products: Callable[..., Product], tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('the wrong package')")

    done = subprocess.run(
        [str(Path(sys.executable).with_name("loopwright")), "ps", "--home", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "is not running in" in done.stderr
