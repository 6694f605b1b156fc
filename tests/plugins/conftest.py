"""The example plug-in as a package that is installed, and small plug-ins with one thing wrong."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("house_style")

_COUNT = itertools.count()

PluginWriter = Callable[..., Path]


@pytest.fixture(scope="session")
def house_style(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example is installed; built as its author would, from a copy of its sources."""
    folder = tmp_path_factory.mktemp("house_style")
    shutil.copytree(SOURCE, folder / "source")
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "installed")]
    subprocess.run([*install, str(folder / "source")], check=True)
    return folder / "installed"


@pytest.fixture
def add_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginWriter:
    """Install a plug-in of one module, as a package manager would leave it, into this test's own folder."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def add(
        name: str,
        source: str,
        *,
        group: str = "loopwright.tools",
        distribution: str = "",
        function: str = "make_tools",
    ) -> Path:
        distribution = distribution or f"loopwright-{name}"
        # Once loaded, a module stays: each test needs one of its own.
        module = f"plugin_{next(_COUNT)}"
        (folder / f"{module}.py").write_text(source)
        described = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{function}\n")
        return folder

    return add
