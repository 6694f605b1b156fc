"""The code of docs/extending is put in its place, in a copy of the checkout, and its tests run there."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from runtime import notices
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation
from sidecar.pool.child_process import ChildProcess, SkillCode
from sidecar.pool.spawner import Spawner
from sidecar.rehearsal.driver import PlayedRun, RehearsedFunction, play_run
from skills.book import grants, runs
from skills.format.manifest import read_manifest
from tests.support.databases import Store
from tests.support.extending_pages import FOLDER, PAGES, copy_checkout, read_page
from tests.support.http_servers import Response, http_server
from tests.support.skill_world import SkillWorld, skill_world

HOUSE_RULES = tuple(
    f"tests/unit/test_structure.py::{name}"
    for name in ("test_no_public_class_name_is_used_twice", "test_a_folder_has_a_dozen_modules_or_a_reason")
)
STEM = "page_watch"

pages = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the code of all pages, which therefore go together."""
    root = tmp_path_factory.mktemp("checkout")
    copy_checkout(root)
    for name in PAGES:
        read_page(name).put_in_place(root)
    return root


@pytest.fixture(scope="module")
def outcomes(checkout: Path) -> dict[str, list[str]]:
    """How the tests of the pages ended, by file: empty for one that passed, else what it said."""
    tests = {path for name in PAGES for path in read_page(name).tests}
    report = checkout / "report.xml"
    options = [
        "-q",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-o",
        "junit_family=xunit1",
        f"--junit-xml={report}",
    ]
    ended = _run(checkout, sys.executable, "-m", "pytest", *options, *sorted(tests), *HOUSE_RULES)
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        said = [one.text or "" for one in case if one.tag in ("failure", "error")]
        found.setdefault(str(case.get("file")), []).append("".join(said))
    assert found, ended.stdout + ended.stderr
    return found


@pytest.mark.long
@pages
def test_the_tests_of_a_page_pass_on_its_code(name: str, outcomes: dict[str, list[str]]) -> None:
    shown = [path for path in read_page(name).files if Path(path).name.startswith("test_")]

    assert len(shown) == 1
    assert [said for said in outcomes[shown[0]] if said] == []


@pytest.mark.long
def test_all_of_it_keeps_the_house_rules(outcomes: dict[str, list[str]]) -> None:
    rules = (*outcomes["tests/unit/test_structure.py"], *outcomes["tests/unit/test_card_answers.py"])

    assert len(rules) > len(HOUSE_RULES)
    assert [said for said in rules if said] == []


@pages
def test_a_page_says_what_people_need(name: str) -> None:
    text, page = (FOLDER / f"{name}.md").read_text(), read_page(name)

    assert all(f"\n## {title}\n" in text for title in ("Where it goes", "Try it", "What may go wrong", "The test"))
    assert [path for path in page.files if path.startswith(page.tests)]


@pytest.mark.long
def test_it_is_typed_and_clean_and_its_imports_point_down(checkout: Path) -> None:
    files = sorted(path for name in PAGES for path in read_page(name).files)
    changed = sorted({change.path for name in PAGES for change in read_page(name).changes})
    typed = [path for path in files if not path.startswith("my_skills/")]

    for words in (
        ("ruff", "check", *files, *changed),
        ("ruff", "format", "--check", *files, *changed),
        ("mypy", *typed),
        ("lint-imports",),
    ):
        ended = _run(checkout, *words)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert re.search("passed|already formatted|no issues|0 broken", ended.stdout), words


def test_the_skill_runs_in_its_jail_and_remembers_what_it_told(store: Store, tmp_path: Path) -> None:
    """The page's file, with the address of a server that is there."""
    status = 200
    with http_server(lambda _: Response(status)) as shop, skill_world(store, tmp_path / "h") as world:
        source = read_page("skill").files[f"my_skills/{STEM}.py"]
        source = source.replace("https://shop.example/", f"{shop.url}/").replace("shop.example", shop.address)
        with _serving(world, source, tmp_path / "run") as child:
            first = _run_once(world, child, source, "run-1")
            status = 503
            second = _run_once(world, child, source, "run-2")
            third = _run_once(world, child, source, "run-3")

    assert [run.error for run in (first, second, third)] == [None] * 3
    assert [run.output for run in (first, second, third)] == [{"answers": True}, *[{"answers": False}] * 2]
    assert [step.name for step in second.steps] == ["look", "look-back", "tell"]
    assert [step.name for step in third.steps] == ["look", "look-back"]
    assert len(shop.requests) == 3
    with world.reading() as scope:
        assert [one.text for one in notices.list_newest_notices(scope)] == [
            f"[skill {STEM}] {shop.url}/ does not answer."
        ]


@contextmanager
def _serving(world: SkillWorld, source: str, folder: Path) -> Iterator[ChildProcess]:
    """Serve the source in a process of its own, granted all that it asks for."""
    data = source.encode()
    manifest = read_manifest(data)
    granted = frozenset(grants.wanted_permissions(manifest))
    world.grant(STEM, granted)
    sha = hashlib.sha256(data).hexdigest()
    spawner = Spawner(Jail(folder, probe_isolation()), world.broker)
    child = spawner.boot(SkillCode(STEM, sha, data, f"/skills/{STEM}.py", f"sv_{STEM}", manifest, granted))
    try:
        yield child
    finally:
        spawner.end(child)
        spawner.stop()


def _run_once(world: SkillWorld, child: ChildProcess, source: str, run_id: str) -> PlayedRun:
    """Call the function until it ends, as an engine does, and enter its end in the book, as the sidecar does."""
    world.begin(STEM, run_id)
    manifest = read_manifest(source.encode())
    event = {"name": "page_watch/asked", "data": {}, "id": run_id, "ts": 1}
    own, granted = frozenset({f"skill-{STEM}-page-watch"}), frozenset(grants.wanted_permissions(manifest))
    function = RehearsedFunction(STEM, "page-watch", manifest, own, granted, run_id, event)
    played = play_run(function, child, {}, lambda *_: None)
    with world.store.database.transaction(world.store.workspace_id) as scope:
        runs.record_run_end(scope, run_id, "completed", output=played.output)
    return played


def _run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment, with the checkout's own sources before the installed ones."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    env = {**os.environ, "PYTHONPATH": str(checkout), "PATH": path}
    return subprocess.run(words, capture_output=True, text=True, cwd=checkout, env=env, check=False)
