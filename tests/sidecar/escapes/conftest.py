"""Prisons for hostile skills: the real spawner and real processes, without the checks that would refuse such files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.child.landlock import SIGNALS_SINCE
from sidecar.child.limits import MEBIBYTE, Limits
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.probe import isolation_works, possible_isolations, probe_isolation
from tests.support.databases import Store
from tests.support.http_servers import HttpServer, Request, Response, http_server
from tests.support.jail_children import JailChildren, jailed
from tests.support.skill_world import SkillWorld, skill_world

LIMITS = Limits(seconds=20, cpu_seconds=10, memory=256 * MEBIBYTE, processes=65, disk=16 * MEBIBYTE)


PLANTED = "a-key-of-the-sidecar"


@pytest.fixture(scope="session", autouse=True)
def planted() -> Iterator[None]:
    """Something in the sidecar's own environment that no skill may see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", PLANTED)
        yield


@pytest.fixture(scope="session")
def isolation() -> Isolation:
    """The one that the sidecar would use on this machine."""
    found = probe_isolation()
    print(f"isolation: {found.words}; it leaves a hostile skill to {', '.join(found.gaps)}")
    return found


@pytest.fixture(scope="session")
def without_bubblewrap() -> Isolation:
    """What the sidecar would use if bubblewrap were not here, as far as it is more than limits."""
    users = (one for one in possible_isolations() if one.level is Level.USER)
    found = next((one for one in users if isolation_works(one)), None)
    if found is None:
        pytest.skip("no unprivileged user can be had here: not root, or no interpreter that others may read")
    return found


@pytest.fixture(scope="session")
def prison(isolation: Isolation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JailChildren]:
    """The best there is here."""
    with jailed(tmp_path_factory.mktemp("prison"), isolation, LIMITS) as found:
        yield found


@pytest.fixture(scope="session")
def sealed(isolation: Isolation, prison: JailChildren) -> JailChildren:
    """One whose inmates see only their own files and processes."""
    if isolation.level is not Level.BUBBLEWRAP:
        pytest.skip(f"only bubblewrap hides this; this machine has {isolation.words}")
    return prison


@pytest.fixture(scope="session")
def user_prison(without_bubblewrap: Isolation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JailChildren]:
    """An unprivileged user of its own for each child, and nothing more."""
    with jailed(tmp_path_factory.mktemp("prison"), without_bubblewrap, LIMITS) as found:
        yield found


@pytest.fixture(scope="session")
def limits_prison(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JailChildren]:
    """Our own user, with limits: what is left without bubblewrap and without root."""
    last = next(one for one in possible_isolations() if one.level is Level.LIMITS and not one.own_network)
    with jailed(tmp_path_factory.mktemp("prison"), last, LIMITS) as found:
        yield found


SECOND_BEST = pytest.param("user_prison", marks=pytest.mark.load)


THIRD_BEST = pytest.param("limits_prison", marks=pytest.mark.load)


@pytest.fixture(params=["prison", SECOND_BEST, THIRD_BEST])
def any_prison(request: pytest.FixtureRequest) -> JailChildren:
    """For what holds however little there is."""
    found: JailChildren = request.getfixturevalue(request.param)
    found.refused.clear()
    return found


@pytest.fixture(params=["prison", SECOND_BEST, THIRD_BEST])
def walled(request: pytest.FixtureRequest) -> JailChildren:
    """One behind walls, so that its inmates may be let at our own files and processes."""
    found: JailChildren = request.getfixturevalue(request.param)
    if found.isolation.level is Level.LIMITS and found.isolation.fence < SIGNALS_SINCE:
        pytest.skip(f"nothing keeps a skill from this; this machine has {found.isolation.words}")
    return found


@pytest.fixture
def engine() -> Iterator[HttpServer]:
    """What takes the events that the broker sends."""
    with http_server(lambda _: Response(body=b'{"ids": [], "status": 200}')) as built:
        yield built


@pytest.fixture
def sent(engine: HttpServer) -> list[Request]:
    return engine.requests


@pytest.fixture
def world(store: Store, tmp_path: Path, engine: HttpServer) -> Iterator[SkillWorld]:
    """The broker that a hostile skill asks."""
    with skill_world(store, tmp_path / "h", engine_url=engine.url) as made:
        yield made
