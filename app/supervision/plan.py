"""Plan which processes a product needs, and the environment and command of each. Pure: no I/O."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from app.processes.process import module_of, run_process
from app.supervision.process_spec import ForkSpec, ProcessSpec
from core.settings import Settings

EMBEDDED = "embedded"
# Started in this order and stopped in the opposite one: those who send requests stop before those who serve them.
_ORDER = ("engine", "studio", "model", "worker", "sidecar", "web", "index")
# The order in which people see them, and the order of the ports after the web's.
_PORT_ORDER = ("web", "engine", "worker", "sidecar", "model", "studio", "index")
# Modules that several processes need are loaded once, before the first of them. The engine and the studio load their
# own meanwhile. The studio must: its libraries start threads.
_SHARED = ("model", "worker", "sidecar", "web")
_PRELOAD = {name: (module_of(name),) for name in _SHARED}
# The model client is slow to load; the worker loads it at first use.
_WARM = {"engine": (module_of("engine"),), "worker": ("openai",)}
_HEALTH = {"engine": "/health", "model": "/healthz", "studio": "/healthz", "index": "/api/v2/heartbeat"}
# Everything works without the index: until it runs, searches read the database.
_LATE = ("index",)


@dataclass(frozen=True)
class HomeKeys:
    """The keys with which the processes of one home authenticate to each other."""

    event: str = field(repr=False)
    signing: str = field(repr=False)
    jobs: str = field(repr=False)


def process_names(settings: Settings, engine: str) -> list[str]:
    """Return the needed processes in port order: the engine if embedded, stand-ins if no real service is configured."""
    needed = {"web", "worker", "sidecar"}
    if engine == EMBEDDED:
        needed.add("engine")
    if settings.offline_model:
        needed.add("model")
    if "studio" in settings.generators:
        needed.add("studio")
    if not settings.vector_url:
        needed.add("index")
    return [name for name in _PORT_ORDER if name in needed]


def plan_processes(settings: Settings, keys: HomeKeys, ports: Mapping[str, int], engine: str) -> list[ProcessSpec]:
    """Return the specs of this product's processes in starting order, each with its environment."""
    home = settings.home.resolve()
    env = {
        "LOOPWRIGHT_HOME": str(home),
        "LOOPWRIGHT_WEB_URL": settings.web_url or _address(ports["web"]),
        "LOOPWRIGHT_WORKER_URL": settings.worker_url or _address(ports["worker"]),
        "LOOPWRIGHT_SIDECAR_URL": settings.sidecar_url or _address(ports["sidecar"]),
        **_engine_env(settings, keys, ports, engine),
        **_model_env(ports),
        **_studio_env(keys, ports),
        **_index_env(ports),
    }
    return [_spec(name, home, ports[name], env) for name in _ORDER if name in ports]


def _engine_env(settings: Settings, keys: HomeKeys, ports: Mapping[str, int], engine: str) -> dict[str, str]:
    if engine == EMBEDDED:
        return {
            "INNGEST_DEV": "0",
            "INNGEST_BASE_URL": _address(ports["engine"]),
            "INNGEST_EVENT_KEY": keys.event,
            "INNGEST_SIGNING_KEY": keys.signing,
        }
    # With a signing key it is a production server, without one a dev server.
    keyed = bool(settings.inngest_signing_key.get_secret_value())
    return {"INNGEST_DEV": "0" if keyed else engine, "INNGEST_BASE_URL": engine}


def _model_env(ports: Mapping[str, int]) -> dict[str, str]:
    if "model" not in ports:
        return {}
    return {"OPENAI_BASE_URL": f"{_address(ports['model'])}/v1"}


def _studio_env(keys: HomeKeys, ports: Mapping[str, int]) -> dict[str, str]:
    if "studio" not in ports:
        return {}
    return {"LOOPWRIGHT_JOBS_URL": _address(ports["studio"]), "LOOPWRIGHT_JOBS_KEY": keys.jobs}


def _index_env(ports: Mapping[str, int]) -> dict[str, str]:
    return {"LOOPWRIGHT_VECTOR_URL": _address(ports["index"])} if "index" in ports else {}


def _spec(name: str, home: Path, port: int, env: Mapping[str, str]) -> ProcessSpec:
    # -P: a folder or file in the working directory must not shadow our packages.
    argv = (*(sys.executable, "-P", "-m", "app.cli", "serve", name), *("--home", str(home), "--port", str(port)))
    fork = ForkSpec(partial(run_process, name, home, port), _PRELOAD.get(name, ()), _WARM.get(name, ()))
    ready = _address(port) + _HEALTH.get(name, "/readyz")
    return ProcessSpec(name, (*argv, "--supervised"), port, ready, env, fork, late=name in _LATE)


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}"
