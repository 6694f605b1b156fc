"""How `serve engine` is told about keys, database and clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli import main
from app.processes.engine import engine_config
from app.processes.process import ProcessOptions
from core.settings import load_settings


def ask(host: str = "127.0.0.1", **settings: object) -> ProcessOptions:
    return ProcessOptions(load_settings(**settings), host, 8288)


def test_without_keys_it_is_keyless() -> None:
    config = engine_config(ask())

    assert config.signing_keys == ()
    assert config.event_keys == ()


def test_with_inngests_key_variables_it_is_keyed() -> None:
    config = engine_config(ask(inngest_signing_key="signkey-prod-ab12", inngest_event_key="event"))

    assert config.signing_keys == ("signkey-prod-ab12",)
    assert config.event_keys == ("event",)


def test_its_sqlite_file_is_its_own(tmp_path: Path) -> None:
    assert engine_config(ask(home=tmp_path)).database_url == f"sqlite:///{tmp_path / 'engine.sqlite'}"


def test_on_postgresql_it_shares_the_server() -> None:
    config = engine_config(ask(database_url="postgresql://me@db.example/loopwright"))

    assert config.database_url == "postgresql+psycopg2://me@db.example/loopwright"


def test_a_retry_pause_of_nought_leaves_inngests_schedule() -> None:
    assert engine_config(ask()).retry_interval is None
    assert engine_config(ask(retry_seconds=2)).retry_interval == 2


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"INNGEST_SIGNING_KEY": "no hex"}, "hex"),
        ({"INNGEST_EVENT_KEY": "event"}, "signing key"),
    ],
)
def test_keys_that_do_not_fit_are_wrong_use(tmp_path: Path, env: dict[str, str], words: str) -> None:
    done = CliRunner().invoke(main, ["serve", "engine", "--home", str(tmp_path), "--port", "1"], env=env)

    assert done.exit_code == 2
    assert words in done.output


def test_a_keyless_engine_stays_on_loopback(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["serve", "engine", "--home", str(tmp_path), "--host", "0.0.0.0"])

    assert done.exit_code == 2
    assert "loopback" in done.output
