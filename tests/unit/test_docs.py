"""The documents name only what is there: paths, names in files, commands with their options, settings, links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from app.cli.root import main as command_group
from core import events
from core.settings import Settings, variable_of

ROOT = Path(__file__).parents[2]
HISTORY = (ROOT / "CHANGELOG.md", ROOT / "docs" / "moved.md")
"""They name what was there before."""
DOCUMENTS = [
    path
    for path in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("engine/*.md")))
    if path not in HISTORY
]
TOP = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"var"}
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_PLACE = re.compile(r"(?<![\w./<-])((?:[\w.-]+/)+[\w.-]*)(?:::(\w+))?")
_NEW_FILE = re.compile(r"^`([\w./-]+)`:\n\n```python$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?<![\w/.-])(?:\.venv/bin/)?loopwright ((?:[a-z]+ ?)+)([^`\n|#]*)")
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
_MAKE = re.compile(r"(?<![\w-])make ([a-z][a-z-]*)")
_MODULE = re.compile(r"python -m ([\w.]+)")
_SETTING = re.compile(r"\b(?:LOOPWRIGHT|INNGEST)_[A-Z_]*[A-Z]\b")
_OF_TESTS = {"INNGEST_BIN"}
_OPEN_ENDED = ("LOOPWRIGHT_NOTIFY_", "LOOPWRIGHT_HOUSE_STYLE_")
"""Channels' own webhooks, and the settings of the plug-in that is the example for all."""
_IN_A_HOME = "workspace/functions"
_ELSEWHERE = {"tests/test_inngest"}
"""In a checkout of Inngest's SDK."""
EVENTS = {one.name for one in vars(events).values() if isinstance(getattr(one, "name", None), str)}
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@documents
def test_every_path_that_a_document_names_is_there(document: Path) -> None:
    missing = [
        place
        for place, name in _places(document)
        if not (ROOT / place).exists() or (name and name not in _defined_names(place))
    ]

    assert missing == []


def test_every_file_that_moved_is_where_the_table_says() -> None:
    rows = re.findall(r"^\| `[^`]+` \| (.+) \|$", (ROOT / "docs" / "moved.md").read_text(), re.MULTILINE)
    now = {place for row in rows for place in re.findall(r"`([^`]+)`", row)}

    assert now
    assert [place for place in sorted(now) if not (ROOT / place).exists()] == []


@documents
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    broken = [link for link in _LINK.findall(document.read_text()) if not _leads_somewhere(document, link)]

    assert broken == []


@documents
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    unknown = [
        found[0]
        for code in _CODE.findall(document.read_text())
        for found in _COMMAND.finditer(code)
        if not _is_command(found[1].split(), _OPTION.findall(found[2]))
    ]

    assert unknown == []


@documents
def test_every_make_target_and_module_that_a_document_names_exists(document: Path) -> None:
    code = "\n".join(_CODE.findall(document.read_text()))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    modules = {name for name in _MODULE.findall(code) if name.split(".")[0] in TOP}

    assert set(_MAKE.findall(code)) <= targets
    assert [name for name in sorted(modules) if not _is_module(name)] == []


@documents
def test_every_setting_that_a_document_names_is_one(document: Path) -> None:
    known = {variable_of(name) for name in Settings.model_fields} | _OF_TESTS
    named = set(_SETTING.findall(document.read_text())) - known

    assert {name for name in named if not name.startswith(_OPEN_ENDED)} == set()


def _places(document: Path) -> Iterator[tuple[str, str]]:
    """Paths that stand in a document's code, with the name in them where one is given, but for files that it adds."""
    text = document.read_text()
    elsewhere = {*EVENTS, *_ELSEWHERE, *_NEW_FILE.findall(text)}
    for code in _CODE.findall(text):
        for place, name in _PLACE.findall(code):
            if place.split("/")[0] in TOP and place not in elsewhere and not place.startswith(_IN_A_HOME):
                yield place.rstrip("."), name


@cache
def _defined_names(place: str) -> frozenset[str]:
    """What a module defines at its top, and the fields and methods of its classes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / place).read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return frozenset(found)


def _leads_somewhere(document: Path, link: str) -> bool:
    if "://" in link:
        return True
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists():
        return False
    return not anchor or anchor in {_anchor(title) for title in _HEADING.findall(target.read_text())}


def _anchor(title: str) -> str:
    """As GitHub makes it from a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _is_command(words: list[str], options: list[str]) -> bool:
    """Whether the words begin with a command; what follows it are its arguments."""
    command: click.Command = command_group
    for n, word in enumerate(words):
        if not isinstance(command, click.Group):
            break
        deeper = command.get_command(click.Context(command), word)
        if deeper is None:
            # A group may take an argument of its own.
            return n > 0
        command = deeper
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return set(options) <= {*known, "--help"}


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()
