"""Checks of settings, home and attached engine before anything is started. Each returns its problems, a line each."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from core.errors import LoopwrightError, RefusedError
from core.http_client import http_client_for
from core.orchestrator.engine import Engine, bare_key
from core.plugins import GENERATOR_PLUGINS, TOOL_PLUGINS, find_plugins
from core.settings import Settings, plugin_name_problems


def home_problems(home: Path) -> list[str]:
    """Can the home be made where it is missing, and written? Looks only."""
    try:
        there = next(folder for folder in (home, *home.absolute().parents) if folder.exists())
    except OSError as error:
        return _unwritable_home(home, error)
    if not there.is_dir():
        return _unwritable_home(home, NotADirectoryError(errno.ENOTDIR, ""))
    if not os.access(there, os.W_OK | os.X_OK):
        return _unwritable_home(home, PermissionError(errno.EACCES, ""))
    return []


def make_home(home: Path) -> list[str]:
    """Make the home where it is missing, readable by its owner only, and write in it."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        return _unwritable_home(home, error)
    return []


def _unwritable_home(home: Path, error: OSError) -> list[str]:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return [f"home {home} cannot be written ({reason.lower()}): choose another with --home or LOOPWRIGHT_HOME"]


def setting_problems(settings: Settings) -> list[str]:
    """What no single setting's own rule can see."""
    return [
        *plugin_name_problems(find_plugins()),
        *generator_problems(settings),
        *model_problems(settings),
        *asset_problems(settings),
        *signing_problems(settings),
    ]


def asset_problems(settings: Settings) -> list[str]:
    """Is the address of the works' bytes one that an installed store understands?"""
    if not settings.assets_url:
        return []
    # Loaded only where it is asked for: most homes keep their files themselves.
    from fsspec.core import url_to_fs  # noqa: PLC0415

    try:
        url_to_fs(settings.assets_url)
    except (ValueError, ImportError, OSError) as error:
        return [f"LOOPWRIGHT_ASSETS_URL: {settings.assets_url.split('://')[0]}:// cannot be used ({error})"]
    return []


def generator_problems(settings: Settings) -> list[str]:
    """Is every generator known, and has it an address?"""
    chosen = settings.generators
    known = {"jobs", "openai", "studio", *(one.name for one in find_plugins(GENERATOR_PLUGINS))}
    problems = [
        f"LOOPWRIGHT_GENERATORS: {name!r} is none of {', '.join(sorted(known))}" for name in chosen if name not in known
    ]
    if "jobs" in chosen and "studio" in chosen:
        problems.append("LOOPWRIGHT_GENERATORS: `jobs` and `studio` share one address: choose one of them")
    elif "jobs" in chosen:
        problems += address_problems(settings)
    if "openai" in chosen and settings.offline_model:
        problems.append("OPENAI_API_KEY: the generator `openai` needs it")
    return problems


_PLUGIN_SECONDS = 120


def plugin_problems(settings: Settings) -> list[str]:
    """Can the tools of every installed plug-in be loaded? Loads them in another process, where there are any."""
    plugins = find_plugins(TOOL_PLUGINS)
    if not plugins:
        return []
    # -P: the folder somebody happens to stand in must not stand in for our packages.
    argv = [sys.executable, "-P", "-m", "app.plugin_check", str(settings.home)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PLUGIN_SECONDS, check=True)
        problems: list[str] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        names = ", ".join(str(one) for one in plugins)
        return [f"{names}: loading the tools ends the process or takes too long; uninstall what was installed last"]
    return problems


def address_problems(settings: Settings) -> list[str]:
    """Has the generator its address? That of a studio of our own is known once its port is."""
    named = [name for name in ("jobs", "studio") if name in settings.generators]
    if settings.jobs_url or not named:
        return []
    return [f"LOOPWRIGHT_JOBS_URL: the generator `{named[0]}` needs its address"]


def model_problems(settings: Settings) -> list[str]:
    """Has the model of a paid provider a name? A key that stands in the environment for other programs is no wish."""
    if settings.offline_model or settings.model or settings.openai_base_url:
        return []
    return [
        "LOOPWRIGHT_MODEL: OPENAI_API_KEY is set, so name the model to ask there, or unset the key and the offline "
        "stand-in answers"
    ]


def signing_problems(settings: Settings) -> list[str]:
    """Can calls be signed under the keys? Inngest's are `signkey-<env>-` and hexadecimal digits, or those alone."""
    keys = {
        "INNGEST_SIGNING_KEY": settings.inngest_signing_key,
        "INNGEST_SIGNING_KEY_FALLBACK": settings.inngest_signing_key_fallback,
    }
    return [
        f"{name}: after `signkey-<env>-` it needs an even number of hexadecimal digits, as `openssl rand -hex 32` makes"
        for name, key in keys.items()
        if not _is_hexadecimal(bare_key(key.get_secret_value()))
    ]


def _is_hexadecimal(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True


_ENGINE_SECONDS = 5.0
# Inngest's servers say with every answer whether they check keys (`cloud`) or not (`dev`).
_KIND_HEADER = "X-Inngest-Server-Kind"


def engine_problems(address: str, settings: Settings) -> list[str]:
    """At most one line: what would keep every process waiting for this engine for good."""
    try:
        with http_client_for(address, _ENGINE_SECONDS) as client:
            answer = client.get(f"{address}/health")
    except httpx.HTTPError as error:
        return [f"engine {address} does not answer ({error}): start it, or leave out --engine to use the embedded one"]
    if _KIND_HEADER not in answer.headers and not _is_healthy_engine(answer):
        return [
            f"what answers at {address} is no Inngest server (GET /health gave {answer.status_code}): correct --engine"
        ]
    key = settings.inngest_signing_key.get_secret_value()
    match answer.headers.get(_KIND_HEADER), bool(key):
        case "dev", True:
            return [f"engine {address} is a dev server, which signs nothing: unset INNGEST_SIGNING_KEY to use it"]
        case "cloud", False:
            return [f"engine {address} checks keys: set INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY to its own"]
        case _, True:
            return _key_problems(Engine.at(address, key))
        case _:
            return []


def _is_healthy_engine(answer: httpx.Response) -> bool:
    try:
        said: Any = answer.json()
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("status") == 200


def _key_problems(engine: Engine) -> list[str]:
    try:
        engine.get("/v1/runs/0")
    except RefusedError as error:
        return [str(error)]
    except LoopwrightError:
        # It let us in; that it has no such run was to be expected.
        pass
    return []
