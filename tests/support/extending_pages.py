"""The pages of docs/extending as what they tell people to do: new files, changed files, and tests to run."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "extending"
PAGES = ("skill", "tool", "endpoint", "state-source", "card")
"""The pages whose code goes into a checkout; the plug-in is a package, with tests of its own."""
COPIED = (
    *("app", "core", "engine", "functions", "generation", "loopwright", "memory", "router", "runtime", "sidecar"),
    *("skills", "standins", "tests", "workspace"),
)
_NEW_FILE = re.compile(r"^`([\w./-]+)`:\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n", re.MULTILINE)
_CHANGE = re.compile(r"```diff\n(.*?)```", re.DOTALL)
_PATH = re.compile(r"`([\w/-]+\.py)`")
_TESTS = re.compile(r"-m pytest -q ([^`]+)")


@dataclass(frozen=True)
class Change:
    """Lines of a file that is there, before and after."""

    path: str
    before: str
    after: str

    def apply(self, root: Path) -> None:
        """Change the file; raises AssertionError unless the lines stand in it exactly once."""
        file = root / self.path
        text = file.read_text()
        assert text.count(self.before) == 1, f"{self.path} holds these lines {text.count(self.before)} times:\n{self}"
        file.write_text(text.replace(self.before, self.after))


@dataclass(frozen=True)
class ExtendingPage:
    """What one page shows; `tests` are the paths that its last command runs."""

    name: str
    files: dict[str, str]
    changes: tuple[Change, ...]
    tests: tuple[str, ...]

    def put_in_place(self, root: Path) -> None:
        for path, text in self.files.items():
            file = root / path
            assert not file.exists(), f"{path} is there already: choose another name for the example"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        for change in self.changes:
            change.apply(root)


def read_page(name: str) -> ExtendingPage:
    """Read a page; raises AssertionError where it shows Python that is not a whole file."""
    text = (FOLDER / f"{name}.md").read_text()
    files = dict(_NEW_FILE.findall(text))
    assert len(files) == len(_PYTHON.findall(text)), f"{name}.md: write the path above each block of Python"
    tests = tuple(word for command in _TESTS.findall(text) for word in command.split() if word != "\\")
    return ExtendingPage(name, files, tuple(_change(text, found) for found in _CHANGE.finditer(text)), tests)


def copy_checkout(root: Path) -> None:
    """Copy the sources and their tests; compiled modules too, as they are half of the time that loading takes."""
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name)
    for name in ("pyproject.toml", "inngest.json"):
        shutil.copy2(ROOT / name, root / name)


def _change(text: str, found: re.Match[str]) -> Change:
    """The change of the file that the page named last."""
    lines = [(line[:1], line[1:] + "\n") for line in found[1].splitlines()]
    before = "".join(line for sign, line in lines if sign in (" ", "-"))
    after = "".join(line for sign, line in lines if sign in (" ", "+"))
    return Change(_PATH.findall(_CHANGE.sub("", text[: found.start()]))[-1], before, after)
