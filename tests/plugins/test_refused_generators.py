"""What a chosen generator's plug-in must not do, and the line in which the start says so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from app.clients import make_providers
from app.doctor.finding import Finding, Verdict
from app.doctor.installation import examine_installation
from app.plugin_check import plugin_generator_problems
from app.preflight import generator_problems, plugin_problems
from core.plugins import BUILT_IN_GENERATORS
from core.settings import SettingsError, load_settings
from tests.plugins.conftest import PluginWriter
from tests.support.environment import without_settings
from tests.support.template import COMMAND

CHOSEN = "LOOPWRIGHT_GENERATORS"
GENERATOR = """
from decimal import Decimal
from core.settings import SettingsError
from generation.providers.port import NOT_SUPPORTED

class Dice:
    name = "dice"
    honours_keys = True

    def __init__(self, price):
        self.price = price

    def capabilities(self):
        return []

    def submit(self, request):
        raise NotImplementedError

    def look_up(self, key):
        return NOT_SUPPORTED

    def status(self, upstream_id):
        raise NotImplementedError

    def cancel(self, upstream_id):
        return NOT_SUPPORTED

    def fetch(self, output, most_bytes):
        return b""

    def verify_callback(self, headers, body, now):
        raise NotImplementedError

def make_provider(settings):
    own = settings.of_plugin("dice")
    if "key" not in own:
        raise SettingsError(["LOOPWRIGHT_DICE_KEY: the generator `dice` needs it"])
    return Dice(Decimal(own.get("price", "1")))
"""
MADE = 'return Dice(Decimal(own.get("price", "1")))'


@pytest.fixture
def dice(add_plugin: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> PluginWriter:
    """Install a generator `dice`, and choose it and give it a key."""
    monkeypatch.setenv(CHOSEN, "dice")
    monkeypatch.setenv("LOOPWRIGHT_DICE_KEY", "hush-hush")

    def add(source: str) -> Path:
        return add_plugin("dice", source, group="loopwright.generators", function="make_provider")

    return add


def _plugin_findings() -> list[Finding]:
    return [one for one in examine_installation(load_settings()) if one.subject == "plug-ins"]


def test_a_generator_without_faults_is_taken(dice: PluginWriter) -> None:
    dice(GENERATOR)
    settings = load_settings()

    assert plugin_generator_problems(settings) == []
    assert make_providers(settings)["dice"].name == "dice"


def test_one_may_need_the_address_that_the_start_gives(dice: PluginWriter) -> None:
    dice(GENERATOR.replace("own =", "assert settings.web_url\n    own ="))

    assert plugin_generator_problems(load_settings()) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import turnips\n", "it cannot be imported (ModuleNotFoundError: No module named 'turnips')"),
        ("made = 1\n", "it cannot be imported (AttributeError: "),
        (
            GENERATOR.replace('"key" not in', '"secret" not in'),
            "it makes no provider (LOOPWRIGHT_DICE_KEY: the generator `dice` needs it); check LOOPWRIGHT_DICE_… or ",
        ),
        (GENERATOR.replace('"price", "1"', '"price", "dear"'), "it makes no provider (InvalidOperation: "),
        (GENERATOR.replace(MADE, "raise SystemExit(0)"), "it makes no provider (SystemExit: 0)"),
        (
            GENERATOR.replace(MADE, "raise ValueError(own['key'])"),
            "(ValueError: LOOPWRIGHT_DICE_KEY); check LOOPWRIGHT_DICE_… or update",
        ),
        (GENERATOR.replace(MADE, "return Dice"), "it gives the class Dice instead of a provider made of it"),
        (GENERATOR.replace(MADE, "return None"), "it gives a NoneType without 'capabilities', 'submit', "),
        (
            GENERATOR.replace("def fetch", "def fetched").replace("def cancel", "def cancelled"),
            "without 'cancel', 'fetch'; add every method of generation.providers.port.Provider, or update",
        ),
        (GENERATOR.replace("honours_keys = True", ""), "its provider needs 'honours_keys', of type bool"),
        (
            GENERATOR.replace('name = "dice"', 'name = "cubes"'),
            "needs the 'name' 'dice', as in LOOPWRIGHT_GENERATORS, not 'cubes'; give the provider and its entry",
        ),
        (GENERATOR.replace('name = "dice"', ""), "needs the 'name' 'dice', as in LOOPWRIGHT_GENERATORS, not None"),
    ],
)
def test_one_that_cannot_be_used_is_named_with_its_package(source: str, said: str, dice: PluginWriter) -> None:
    dice(source)
    settings = load_settings()

    (line,) = plugin_generator_problems(settings)

    assert line.startswith("plug-in dice (loopwright-dice): ")
    assert said in line
    assert line.endswith("update or uninstall loopwright-dice")
    with pytest.raises(SettingsError) as raised:
        make_providers(settings)
    assert raised.value.problems == [line]


def test_no_secret_of_loopwright_is_in_the_line(dice: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    dice(GENERATOR.replace(MADE, "raise ValueError(settings.jobs_key.get_secret_value())"))
    monkeypatch.setenv("LOOPWRIGHT_JOBS_KEY", "very-secret")

    (line,) = plugin_generator_problems(load_settings())

    assert "(ValueError: LOOPWRIGHT_JOBS_KEY)" in line


def test_one_that_is_not_chosen_is_not_loaded(add_plugin: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = add_plugin("dice", "import turnips\n", group="loopwright.generators")
    monkeypatch.setenv("PYTHONPATH", str(folder))

    assert plugin_problems(load_settings()) == []


@pytest.mark.parametrize("has_tools", [True, False])
def test_the_check_before_a_start_finds_it(
    has_tools: bool, dice: PluginWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = dice("print('noise')\nimport turnips\n")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    (line,) = plugin_problems(load_settings(), has_tools=has_tools)

    assert line.startswith("plug-in dice (loopwright-dice): it cannot be imported (ModuleNotFoundError: ")


def test_the_doctor_names_a_generator_in_use(dice: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(dice(GENERATOR)))

    (finding,) = _plugin_findings()

    assert (finding.verdict, finding.words) == (Verdict.OK, "generators come from plug-in dice (loopwright-dice)")


def test_the_doctor_says_what_the_start_says(dice: PluginWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(dice(GENERATOR)))
    monkeypatch.delenv("LOOPWRIGHT_DICE_KEY")
    settings = load_settings()

    (finding,) = _plugin_findings()

    assert (finding.verdict, finding.words) == (Verdict.PROBLEM, plugin_generator_problems(settings)[0])


def test_a_product_without_its_generators_key_is_not_started(dice: PluginWriter, tmp_path: Path) -> None:
    folder = dice(GENERATOR)
    argv = [*COMMAND, "up", "--home", str(tmp_path / "home"), "--port", "0"]
    env = {**without_settings(), "PYTHONPATH": str(folder), CHOSEN: "dice"}

    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, env=env, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "plug-in dice (loopwright-dice): it makes no provider (LOOPWRIGHT_DICE_KEY: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "home").exists()


def test_an_unknown_name_is_told_the_built_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "turnips")
    settings = load_settings()

    (line,) = generator_problems(settings)
    with pytest.raises(SettingsError) as raised:
        make_providers(settings)

    assert all(name in line and name in str(raised.value) for name in BUILT_IN_GENERATORS)
