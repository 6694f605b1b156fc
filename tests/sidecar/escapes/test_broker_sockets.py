"""Hostile code in the jail and the sockets of others: it has its own way to the broker, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.child.limits import MEBIBYTE, Limits
from sidecar.jail.isolation import Isolation
from tests.support.databases import Store
from tests.support.jail_children import WILLING, JailChildren, jailed, subject
from tests.support.skill_world import SkillWorld, skill_world

pytestmark = pytest.mark.long

LIMITS = Limits(seconds=20, cpu_seconds=10, memory=256 * MEBIBYTE, processes=65, disk=16 * MEBIBYTE)

ASK = '''
def post(path, body, address=None, **headers):
    """What any address answers to a request, with the run's own id."""
    import httpx
    from skills.kit.door import door
    uds = address or door._address
    headers = {"x-run-id": door.run_id} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=uds), timeout=5) as client:
            return client.post("http://broker" + path, json=body, headers=headers).json()
    except Exception as error:
        return type(error).__name__
'''


SEARCH = """
    import os, stat
    from skills.kit.door import door
    own, reached = int(stat.S_ISSOCK(os.stat(door._address).st_mode)), []
    for top in ("/run", "/tmp", os.path.dirname(door._address)):
        for folder, _, files in os.walk(top):
            for path in (os.path.join(folder, name) for name in files):
                try:
                    if not stat.S_ISSOCK(os.stat(path).st_mode):
                        continue
                except OSError:
                    continue
                if not os.path.samefile(path, door._address) and "Error" not in str(post("/runs", {}, path)):
                    reached.append(path)
    return [own, reached]
"""


@contextmanager
def _both(store: Store, folder: Path, isolation: Isolation) -> Iterator[tuple[SkillWorld, JailChildren]]:
    with skill_world(store, folder / "h") as world, jailed(folder, isolation, LIMITS, world.broker) as prison:
        yield world, prison


@pytest.fixture(params=["isolation", "without_bubblewrap"])
def both(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[tuple[SkillWorld, JailChildren]]:
    """A world and a prison in it, in the jail of this machine and in the weaker one."""
    with _both(store, tmp_path, request.getfixturevalue(request.param)) as made:
        yield made


@pytest.mark.load
def test_a_child_speaks_as_itself_whatever_it_says_and_reaches_no_other_socket(
    both: tuple[SkillWorld, JailChildren],
) -> None:
    world, prison = both
    world.begin("subject", "run-1")
    world.begin("good", "good-run")
    good = prison.boot(subject("return 1"), "good")
    bad = prison.boot(WILLING)
    others = [str(good.inmate.address), str(good.inmate.folder / "broker.sock"), "/run/../run/other.sock"]

    def attempt(body: str) -> Any:
        code = f"def act(ctx):\n    {body.strip()}\n" + ASK
        reply = prison.run(bad, data={"code": code})
        assert reply.status == 200, reply
        return json.loads(reply.body)

    own = attempt("return post('/runs', {})")
    forged = attempt("return post('/runs', {}, x_skill='good', authorization='good', host='good')")
    as_other = attempt("return post('/runs', {}, x_run_id='good-run')")
    elsewhere = attempt(f"return [post('/runs', {{}}, one) for one in {others!r}]")
    own_sockets, reached = attempt(SEARCH)

    assert [one["run_id"] for one in own["items"]] == [one["run_id"] for one in forged["items"]] == ["run-1"]
    assert "not a run of this skill" in as_other["error"]
    assert all(isinstance(one, str) for one in elsewhere), elsewhere
    assert (own_sockets, reached) == (1, [])
    assert [one.what for one in world.refused("subject")] == ["run"]
    assert world.refused("good") == []
