"""What an installed plug-in must not do, and the line in which the start says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.plugin_check import plugin_tool_problems
from app.preflight import setting_problems
from core.settings import SettingsError, load_settings
from tests.plugins.conftest import PluginWriter
from tests.support.environment import without_settings
from tests.support.template import COMMAND

TOOL = """
from pydantic import BaseModel
from loopwright.tools import Effect, ToolResult

class Arguments(BaseModel):
    pass

class Tool:
    name = "roll_dice"
    domain = "core"
    description = "Roll dice."
    effect = Effect.READ
    repeatable = True
    arguments = Arguments

    def run(self, call, arguments):
        return ToolResult({"rolled": 4})

def make_tools(settings):
    return [Tool()]
"""


def test_a_plugin_without_faults_is_taken(add_plugin: PluginWriter) -> None:
    add_plugin("dice", TOOL)

    assert plugin_tool_problems(load_settings()) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (TOOL.replace("roll_dice", "read_object"), "its tool read_object has the name of a tool of Loopwright; "),
        (
            TOOL.replace("roll_dice", "list_tasks"),
            "its tool list_tasks has the name of a tool of Loopwright; rename the tool, or update or uninstall ",
        ),
        (TOOL.replace("roll_dice", "Roll dice"), "not 'Roll dice'"),
        (TOOL.replace("[Tool()]", "[Tool(), Tool()]"), "roll_dice has the name of a tool of plug-in dice"),
        (TOOL.replace("Effect.READ", "Effect.PAID"), "has the effect paid, which needs a card"),
        (TOOL.replace("Effect.READ", "Effect.IRREVERSIBLE"), "has the effect irreversible, which needs a card"),
        (TOOL.replace("Effect.READ", "'read'"), "needs 'effect', of type Effect"),
        (TOOL.replace("arguments = Arguments", "arguments = dict"), "needs 'arguments', a class of pydantic's"),
        (TOOL.replace("def run", "def ran"), "needs a method 'run'"),
        (TOOL.replace("[Tool()]", "[Tool]"), "it gives the class Tool instead of a tool made of it"),
        (TOOL.replace("return [Tool()]", "return None"), "it makes no tools (TypeError: "),
        (
            TOOL.replace("return [Tool()]", "raise ValueError('no key')"),
            "(ValueError: no key); check LOOPWRIGHT_DICE_… or update",
        ),
        (TOOL.replace("return [Tool()]", "raise SystemExit(0)"), "it makes no tools (SystemExit: 0)"),
        ("import turnips\n", "it cannot be imported (ModuleNotFoundError: No module named 'turnips')"),
        ("made = 1\n", "it cannot be imported (AttributeError: "),
        ("def (\n", "it cannot be imported (SyntaxError: "),
    ],
)
def test_one_that_cannot_be_used_is_named_with_its_package(source: str, said: str, add_plugin: PluginWriter) -> None:
    add_plugin("dice", source)

    (line,) = plugin_tool_problems(load_settings())

    assert line.startswith("plug-in dice (loopwright-dice): ")
    assert said in line
    assert line.endswith("update or uninstall loopwright-dice")


def test_two_that_give_one_tool_are_both_named(add_plugin: PluginWriter) -> None:
    add_plugin("dice", TOOL)
    add_plugin("games", TOOL)

    (line,) = plugin_tool_problems(load_settings())

    assert line.startswith(
        "plug-in games (loopwright-games): its tool roll_dice has the name of a tool of plug-in dice"
    )
    assert "(loopwright-dice)" in line


def test_a_value_in_an_error_is_shown_by_the_name_of_its_setting(
    add_plugin: PluginWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_plugin("dice", TOOL.replace("return [Tool()]", "raise ValueError(f\"bad key {settings['key']}\")"))
    monkeypatch.setenv("LOOPWRIGHT_DICE_KEY", "hush-hush")

    (line,) = plugin_tool_problems(load_settings())

    assert "ValueError: bad key LOOPWRIGHT_DICE_KEY)" in line


@pytest.mark.parametrize(
    "name", ["model", "skill", "home", "MODEL-TIMEOUT", "notify", "notify-ops", "plug.in", "free-per", "9lives"]
)
@pytest.mark.parametrize("group", ["loopwright.tools", "loopwright.generators"])
def test_a_name_with_which_settings_of_ours_begin_is_refused(name: str, group: str, add_plugin: PluginWriter) -> None:
    add_plugin(name, TOOL, group=group, distribution="loopwright-other")

    (line,) = setting_problems(load_settings())

    assert line.startswith(f"plug-in {name} (loopwright-other): ")
    assert line.endswith("; uninstall loopwright-other, or have its entry point renamed")


def test_two_packages_never_share_settings(add_plugin: PluginWriter) -> None:
    add_plugin("two-dice", TOOL)
    add_plugin("two_dice", TOOL, distribution="loopwright-others")

    (line,) = setting_problems(load_settings())

    assert line.startswith("plug-in two_dice (loopwright-others): loopwright-two-dice has one")


def test_the_longest_name_has_the_setting(add_plugin: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    add_plugin("dice", TOOL)
    add_plugin("dice-pro", TOOL.replace("roll_dice", "roll_more"))
    monkeypatch.setenv("LOOPWRIGHT_DICE_PRO_KEY", "a")
    monkeypatch.setenv("LOOPWRIGHT_DICE_KEY", "b")

    settings = load_settings()

    assert (settings.of_plugin("dice"), settings.of_plugin("dice-pro")) == ({"key": "b"}, {"key": "a"})


@pytest.mark.parametrize("variable", ["LOOPWRIGHT_DICE_", "LOOPWRIGHT_DICES_KEY", "LOOPWRIGHT_MODEL_KEY"])
def test_a_setting_of_nothing_installed_is_unknown(
    variable: str, add_plugin: PluginWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_plugin("dice", TOOL)
    add_plugin("model", TOOL)
    monkeypatch.setenv(variable, "x")

    with pytest.raises(SettingsError, match=f"^{variable} is not a setting of Loopwright or of an installed plug-in"):
        load_settings()


def _up(folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    argv = [*COMMAND, "up", "--home", str(home), "--port", "0"]
    env = {**without_settings(), "PYTHONPATH": str(folder)}
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, env=env, check=False)


def test_a_product_with_one_that_fails_is_not_started(add_plugin: PluginWriter, tmp_path: Path) -> None:
    folder = add_plugin("dice", "print('noise')\n" + TOOL.replace("return [Tool()]", "raise KeyError('sides')"))

    ended = _up(folder, tmp_path / "home")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "plug-in dice (loopwright-dice): it makes no tools (KeyError: 'sides')" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "home").exists()


def test_a_product_with_one_that_ends_the_process_is_not_started(add_plugin: PluginWriter, tmp_path: Path) -> None:
    folder = add_plugin("dice", "import os\nos._exit(0)\n")

    ended = _up(folder, tmp_path / "home")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "plug-in dice (loopwright-dice): loading ends the process" in ended.stderr
    assert not (tmp_path / "home").exists()
