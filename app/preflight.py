"""Check settings, home and attached engine before anything starts. Each check returns one line a problem."""

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
from core.plugins import BUILT_IN_GENERATORS, GENERATOR_PLUGINS, TOOL_PLUGINS, find_generator_plugins, find_plugins
from core.settings import Settings, plugin_name_problems

_PLUGIN_SECONDS = 120
_ENGINE_SECONDS = 5.0
# Inngest's servers say in every response whether they check keys (`cloud`) or not (`dev`).
_KIND_HEADER = "X-Inngest-Server-Kind"


def home_problems(home: Path) -> list[str]:
    """Check that the home can be created, if missing, and written. Changes nothing."""
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
    """Create the home if missing, readable by its owner only, and check that it can be written."""
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
    """Check what the settings' own validation cannot: how they fit together and what is installed."""
    return [
        *plugin_name_problems(find_plugins()),
        *generator_problems(settings),
        *model_problems(settings),
        *asset_problems(settings),
        *signing_problems(settings),
    ]


def asset_problems(settings: Settings) -> list[str]:
    """Check that an installed storage library understands LOOPWRIGHT_ASSETS_URL."""
    if not settings.assets_url:
        return []
    # Imported only when set: most homes keep their files themselves.
    from fsspec.core import url_to_fs  # noqa: PLC0415

    try:
        url_to_fs(settings.assets_url)
    except (ValueError, ImportError, OSError) as error:
        return [f"LOOPWRIGHT_ASSETS_URL: {settings.assets_url.split('://')[0]}:// cannot be used ({error})"]
    return []


def generator_problems(settings: Settings) -> list[str]:
    """Check that every generator is known and has the address or key it needs."""
    chosen = settings.generators
    known = {*BUILT_IN_GENERATORS, *(one.name for one in find_plugins(GENERATOR_PLUGINS))}
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


def plugin_problems(settings: Settings, *, has_tools: bool = True) -> list[str]:
    """Check that the plug-ins in use can be loaded: the chosen generators and, with `has_tools`, all tools.

    Loads them in another process.
    """
    generators = find_generator_plugins(settings.generators)
    plugins = [*(find_plugins(TOOL_PLUGINS) if has_tools else ()), *generators]
    if not plugins:
        return []
    groups = ([TOOL_PLUGINS] if has_tools else []) + ([GENERATOR_PLUGINS] if generators else [])
    # -P: a folder or file in the working directory must not shadow our packages.
    argv = [sys.executable, "-P", "-m", "app.plugin_check", str(settings.home), *groups]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PLUGIN_SECONDS, check=True)
        problems: list[str] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        names = ", ".join(dict.fromkeys(str(one) for one in plugins))
        return [f"{names}: loading ends the process or takes too long; uninstall what was installed last"]
    return problems


def address_problems(settings: Settings) -> list[str]:
    """Check that the generator has an address. Our own studio gets one when its port is chosen."""
    named = [name for name in ("jobs", "studio") if name in settings.generators]
    if settings.jobs_url or not named:
        return []
    return [f"LOOPWRIGHT_JOBS_URL: the generator `{named[0]}` needs its address"]


def model_problems(settings: Settings) -> list[str]:
    """Check that a paid model is named: a key may be in the environment for other programs only."""
    if settings.offline_model or settings.model or settings.openai_base_url:
        return []
    return [
        "LOOPWRIGHT_MODEL: OPENAI_API_KEY is set, so name the model to ask there, or unset the key and the offline "
        "stand-in answers"
    ]


def signing_problems(settings: Settings) -> list[str]:
    """Check that the signing keys are hexadecimal digits, alone or after `signkey-<env>-`."""
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


def engine_problems(address: str, settings: Settings) -> list[str]:
    """Check that the attached engine answers, is an Inngest server, and agrees with us about keys."""
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
        body: Any = answer.json()
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("status") == 200


def _key_problems(engine: Engine) -> list[str]:
    try:
        engine.get("/v1/runs/0")
    except RefusedError as error:
        return [str(error)]
    except LoopwrightError:
        # The key was accepted; a run with this id does not exist.
        pass
    return []
