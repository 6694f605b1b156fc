"""The best isolation works wherever Loopwright is installed, and be it where a child has its scratch folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sidecar.jail.exposed_files import library_folders
from sidecar.jail.probe import probe_isolation

PROGRAM = """
from sidecar.jail.exposed_files import library_folders
from sidecar.jail.probe import probe_isolation
print(*library_folders())
print(probe_isolation().level)
"""


@pytest.mark.long
def test_what_is_installed_below_the_folder_for_temporary_files_is_no_worse_off() -> None:
    (library,) = library_folders()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        installed = Path(folder) / "site-packages"
        installed.symlink_to(library)
        path = os.pathsep.join([str(installed), str(Path(__file__).parents[2])])
        env = {**os.environ, "PYTHONPATH": path}
        argv = [sys.executable, "-P", "-c", PROGRAM]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout.splitlines() == [str(installed), str(probe_isolation().level)]
