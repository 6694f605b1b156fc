"""The vector index as a process: a Chroma server, the only owner of its files."""

from __future__ import annotations

from ipaddress import ip_address

import click

from app.processes.process import ProcessOptions


def run(ask: ProcessOptions) -> None:
    """Serve the home's index until told to stop. Raises UsageError for an address that others can reach.

    The server asks nobody for a key, so that it listens on loopback only. It sends nothing anywhere.
    """
    if not _is_loopback(ask.host):
        raise click.UsageError("the index has no keys, so it listens on loopback only; elsewhere run a Chroma server")
    folder = ask.settings.home.resolve() / "index"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The server is this part alone; its Python package around it costs most of a second and half of the memory.
    import chromadb_rust_bindings  # noqa: PLC0415 - it is a server's whole code, which only this process needs

    told = ("--path", str(folder), "--host", ask.host, "--port", str(ask.port))
    chromadb_rust_bindings.cli(["chroma", "run", *told])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
