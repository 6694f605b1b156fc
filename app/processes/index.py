"""The vector index as a process: a Chroma server, the only one to touch its files."""

from __future__ import annotations

from ipaddress import ip_address

import click

from app.processes.process import ProcessOptions


def run(options: ProcessOptions) -> None:
    """Serve the home's index until a signal stops it. Raise UsageError for an address other than loopback.

    The server checks no keys, hence loopback only. It sends no telemetry.
    """
    if not _is_loopback(options.host):
        raise click.UsageError("the index has no keys, so it listens on loopback only; elsewhere run a Chroma server")
    folder = options.settings.home.resolve() / "index"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The server needs only this module; the package around it costs most of a second and half of the memory.
    import chromadb_rust_bindings  # noqa: PLC0415 - a whole server, which only this process needs

    arguments = ("--path", str(folder), "--host", options.host, "--port", str(options.port))
    chromadb_rust_bindings.cli(["chroma", "run", *arguments])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
