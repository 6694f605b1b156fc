"""Start the product for `loopwright up`: check the settings, prepare the home, run the supervisor."""

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
    """The options of the command line. `home` None means the settings' home; `port` 0 means free ports."""

    home: Path | None
    port: int
    engine: str
    open_page: bool


class CannotStartError(RuntimeError):
    """Nothing was started; `problems` says why, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def launch(options: LaunchOptions, say: Callable[[str], None]) -> int:
    """Run the product until it is asked to stop; return an exit status. Raise CannotStartError if nothing started."""
    settings = _checked_settings(options)
    _refuse_problems(make_home(settings.home))
    try:
        with HomeLock(settings.home):
            return _launch_locked(settings, options, say)
    except HomeInUseError as error:
        raise CannotStartError([str(error)]) from None


def _launch_locked(settings: Settings, options: LaunchOptions, say: Callable[[str], None]) -> int:
    ports = choose_ports(process_names(settings, options.engine), options.port)
    _refuse_problems(
        port_problems(ports) + ([] if options.engine == EMBEDDED else engine_problems(options.engine, settings))
    )
    bootstrap = _prepare_home(settings)
    address = f"http://127.0.0.1:{ports['web']}/?token={bootstrap.token}"
    if settings.crash_at:
        say(f"warning: LOOPWRIGHT_CRASH_AT is set, so processes will die at {settings.crash_at}: for tests only")

    def greet() -> None:
        say(address)
        if options.open_page:
            webbrowser.open(address)

    keys = HomeKeys(event=bootstrap.event_key, signing=bootstrap.signing_key, jobs=bootstrap.jobs_key)
    specs = plan_processes(settings, keys, ports, options.engine)
    return Supervisor(settings.home.resolve(), specs, say, greet).run()


def _checked_settings(options: LaunchOptions) -> Settings:
    """Return the settings. Raise CannotStartError with every problem that shows before anything is created."""
    try:
        settings = load_settings() if options.home is None else load_settings(home=options.home)
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
    """Bring the database to this release's schema and return the keys of the home."""
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
        # Imported only here: it is slow, and most starts have nothing to migrate.
        from app.schema_upgrade import upgrade_schema  # noqa: PLC0415

        upgrade_schema(settings)
        require_schema(settings)


def _refuse_problems(problems: list[str]) -> None:
    if problems:
        raise CannotStartError(problems)
