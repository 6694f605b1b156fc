"""`loopwright up`: from settings to running processes."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.bootstrap import Bootstrap, ensure_home
from app.preflight import engine_problems, home_problems, make_home, plugin_problems, setting_problems
from app.schema import SchemaError, name_database_errors, require_schema
from app.supervision.home_state import HomeInUseError, HomeLock
from app.supervision.plan import EMBEDDED, HomeKeys, plan_processes, process_names
from app.supervision.ports import choose_ports, port_problems
from app.supervision.supervisor import Supervisor
from core.errors import LoopwrightError
from core.settings import Settings, SettingsError, load_settings


@dataclass(frozen=True)
class LaunchOptions:
    """What was asked for on the command line; `home` None: as the settings say. `port` 0: free ports."""

    home: Path | None
    port: int
    engine: str
    open_page: bool


class CannotStartError(RuntimeError):
    """Nothing was started; `problems` says why, a line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def launch(wish: LaunchOptions, say: Callable[[str], None]) -> int:
    """Run the product until it is asked to stop; an exit status. Raises CannotStartError before anything is started."""
    settings = _checked_settings(wish)
    _refuse_problems(make_home(settings.home))
    try:
        with HomeLock(settings.home):
            return _launch_locked(settings, wish, say)
    except HomeInUseError as error:
        raise CannotStartError([str(error)]) from None


def _launch_locked(settings: Settings, wish: LaunchOptions, say: Callable[[str], None]) -> int:
    ports = choose_ports(process_names(settings, wish.engine), wish.port)
    _refuse_problems(port_problems(ports) + ([] if wish.engine == EMBEDDED else engine_problems(wish.engine, settings)))
    boot = _prepare_home(settings)
    address = f"http://127.0.0.1:{ports['web']}/?token={boot.token}"
    if settings.crash_at:
        say(f"warning: LOOPWRIGHT_CRASH_AT is set, so processes will die at {settings.crash_at}: for tests only")

    def greet() -> None:
        say(address)
        if wish.open_page:
            webbrowser.open(address)

    keys = HomeKeys(event=boot.event_key, signing=boot.signing_key, jobs=boot.jobs_key)
    specs = plan_processes(settings, keys, ports, wish.engine)
    return Supervisor(settings.home.resolve(), specs, say, greet).run()


def _checked_settings(wish: LaunchOptions) -> Settings:
    """Raises CannotStartError with all that can be seen to be wrong before anything is made."""
    try:
        settings = load_settings() if wish.home is None else load_settings(home=wish.home)
    except SettingsError as error:
        raise CannotStartError(
            error.problems + ([] if error.sound is None else _setting_problems(error.sound))
        ) from None
    _refuse_problems(_setting_problems(settings))
    _refuse_problems(plugin_problems(settings))
    return settings


def _setting_problems(settings: Settings) -> list[str]:
    return setting_problems(settings) + home_problems(settings.home)


def _prepare_home(settings: Settings) -> Bootstrap:
    """The database at this release's schema, and the keys of the home."""
    try:
        with name_database_errors(settings):
            _ensure_schema(settings)
            return ensure_home(settings)
    except LoopwrightError as error:
        raise CannotStartError([str(error)]) from None


def _ensure_schema(settings: Settings) -> None:
    try:
        require_schema(settings)
    except SchemaError:
        # Loaded only now: it is slow to load, and most starts have nothing to migrate.
        from app.schema_upgrade import upgrade_schema  # noqa: PLC0415

        upgrade_schema(settings)
        require_schema(settings)


def _refuse_problems(problems: list[str]) -> None:
    if problems:
        raise CannotStartError(problems)
