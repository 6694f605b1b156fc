"""The example plug-in: installed, given its setting, offered to the model and called by a turn."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.plugin_check import plugin_tool_problems
from core.llm.scripted_model import ScriptedModel, says
from core.settings import load_settings
from runtime.turns import ledger_queries
from tests.plugins.conftest import SOURCE
from tests.runtime.turn_driver import drive_turn, new_task, newest_turn, post_words
from tests.support.composition import compose_parts
from tests.support.databases import Store
from tests.support.environment import without_settings
from tests.support.product import Product
from tests.support.template import COMMAND

PAGE = Path(__file__).parents[2] / "docs" / "extending" / "plug-in.md"
AVOID = "LOOPWRIGHT_HOUSE_STYLE_AVOID"


def test_a_turn_calls_the_tool_with_the_setting_of_its_plugin(
    store: Store, house_style: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(house_style)
    monkeypatch.setenv(AVOID, "synergy, leverage")
    text = json.dumps({"text": "We leverage what we have."})
    model = ScriptedModel(says("", ("check_wording", text)), says("Say `use` instead."))
    parts = compose_parts(store, model, tmp_path)
    task = new_task(store, goal="Check this text")
    post_words(store, task.id, "We leverage what we have.")
    turn = newest_turn(store, task.id)

    assert drive_turn(parts.runtime, store, turn.id) == "completed"

    with store.database.reading(store.workspace_id) as scope:
        (call,) = ledger_queries.list_calls(scope, [turn.id])
    assert call.tool == "check_wording"
    assert '"avoid": ["leverage"]' in json.dumps(call.result)
    model.assert_spent()


def test_its_settings_are_read_and_not_shown(house_style: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(house_style)
    monkeypatch.setenv(AVOID, "hush-hush")
    monkeypatch.setenv("LOOPWRIGHT_HOUSE_STYLE_API_KEY", "hush-key")
    monkeypatch.setenv("LOOPWRIGHT_HOUSE_STYLE_EMPTY", "")

    settings = load_settings()

    assert settings.of_plugin("house-style") == {"avoid": "hush-hush", "api_key": "hush-key"}
    assert settings.of_plugin("another") == {}
    assert "hush" not in repr(settings)


def test_a_mistyped_setting_is_refused(house_style: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(house_style)
    monkeypatch.setenv(AVOID, "synergy")
    monkeypatch.setenv("LOOPWRIGHT_HOUSE_STYLE_AVIOD", "leverage")

    (line,) = plugin_tool_problems(load_settings())

    assert "ValueError: there is no LOOPWRIGHT_HOUSE_STYLE_AVIOD; set LOOPWRIGHT_HOUSE_STYLE_AVOID" in line


@pytest.mark.long
def test_its_types_are_checked_outside_the_checkout(tmp_path: Path) -> None:
    name = "loopwright_house_style.py"
    shutil.copy2(SOURCE / name, tmp_path / name)

    argv = [sys.executable, "-m", "mypy", "--strict", name]
    ended = subprocess.run(argv, cwd=tmp_path, env=without_settings(), capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout


@pytest.mark.long
def test_a_product_starts_with_it_and_names_it(house_style: Path, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(house_style), AVOID: "synergy"}
    product = Product(tmp_path / "home", env=env, program=COMMAND).start()
    try:
        found = product.command("doctor")
        logs = product.logs(1000)
    finally:
        product.stop()

    assert re.search(r"plug-ins.*tools come from plug-in house-style \(loopwright-house-style\)", found.out), found.out
    assert "synergy" not in logs


def test_the_page_shows_what_is_tested() -> None:
    blocks = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL))

    assert blocks == {name: (SOURCE / name).read_text() for name in ("pyproject.toml", "loopwright_house_style.py")}
