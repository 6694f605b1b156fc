"""Heavy libraries are loaded by the first use, not by whoever could use them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADS = """
import importlib, sys
importlib.import_module({module!r})
print(*sorted(name for name in ("openai", "py3langid", "numpy") if name in sys.modules))
"""


@pytest.mark.parametrize("module", ["core.llm.openai_model", "router.judgement", "functions.routable_works"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADS.format(module=module)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == ""
