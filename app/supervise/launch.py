"""`loopwright up`: from settings to running processes."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.bootstrap import Bootstrap, ensure_home
from app.reaching import reaching, require_schema
from app.schema import SchemaError
from app.supervise.engine_check import engine_problems
from app.supervise.home_lock import HomeInUseError, HomeLock
from app.supervise.plan import EMBEDDED, Keys, plan, process_names
from app.supervise.ports import choose_ports, port_problems
from app.supervise.preflight import home_problems, make_home, setting_problems
from app.supervise.supervisor import Supervisor
from core.errors import LoopwrightError
from core.settings import Settings, SettingsError, load_settings


@dataclass(frozen=True)
class Wish:
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


def launch(wish: Wish, say: Callable[[str], None]) -> int:
    """Run the product until it is asked to stop; an exit status. Raises CannotStartError before anything is started."""
    settings = _settings(wish)
    _refuse(make_home(settings.home))
    try:
        with HomeLock(settings.home):
            return _launch_locked(settings, wish, say)
    except HomeInUseError as error:
        raise CannotStartError([str(error)]) from None


def _launch_locked(settings: Settings, wish: Wish, say: Callable[[str], None]) -> int:
    ports = choose_ports(process_names(settings, wish.engine), wish.port)
    _refuse(port_problems(ports) + ([] if wish.engine == EMBEDDED else engine_problems(wish.engine, settings)))
    boot = _prepare(settings)
    address = f"http://127.0.0.1:{ports['web']}/?token={boot.token}"
    if settings.crash_at:
        say(f"warning: LOOPWRIGHT_CRASH_AT is set, so processes will die at {settings.crash_at}: for tests only")

    def greet() -> None:
        say(address)
        if wish.open_page:
            webbrowser.open(address)

    keys = Keys(event=boot.event_key, signing=boot.signing_key, jobs=boot.jobs_key)
    specs = plan(settings, keys, ports, wish.engine)
    return Supervisor(settings.home.resolve(), specs, say, greet).run()


def _settings(wish: Wish) -> Settings:
    """Raises CannotStartError with all that can be seen to be wrong before anything is made."""
    try:
        settings = load_settings() if wish.home is None else load_settings(home=wish.home)
    except SettingsError as error:
        raise CannotStartError(error.problems + ([] if error.sound is None else _wrong(error.sound))) from None
    _refuse(_wrong(settings))
    return settings


def _wrong(settings: Settings) -> list[str]:
    return setting_problems(settings) + home_problems(settings.home)


def _prepare(settings: Settings) -> Bootstrap:
    """The database at this release's schema, and the keys of the home."""
    try:
        with reaching(settings):
            _migrate(settings)
            return ensure_home(settings)
    except LoopwrightError as error:
        raise CannotStartError([str(error)]) from None


def _migrate(settings: Settings) -> None:
    try:
        require_schema(settings)
    except SchemaError:
        # Loaded only now: it is slow to load, and most starts have nothing to migrate.
        from app.migrate import migrate  # noqa: PLC0415

        migrate(settings)
        require_schema(settings)


def _refuse(problems: list[str]) -> None:
    if problems:
        raise CannotStartError(problems)
