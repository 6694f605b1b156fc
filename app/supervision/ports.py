"""Choose and check ports on loopback."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"
# Below the ephemeral ports: an outgoing connection could take the port of a process that is down, and a client that
# keeps trying a dead ephemeral port can even connect to itself.
_RANGE = range(12_000, 32_000)
_HIGHEST = 65_535


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return different free ports, drawn at random so that two products started together rarely collide."""
    found: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):
        if len(found) == count:
            return found
        if is_free(port):
            found.append(port)
    raise OSError(f"fewer than {count} free ports between {_RANGE.start} and {_RANGE.stop}")


def choose_ports(names: Iterable[str], first: int) -> dict[str, int]:
    """Return the port of each process: `first` and the ones after it, or free ones if `first` is 0."""
    wanted = list(names)
    ports = free_ports(len(wanted)) if first == 0 else list(range(first, first + len(wanted)))
    return dict(zip(wanted, ports, strict=True))


def port_problems(ports: dict[str, int], patience: float = 1.0) -> list[str]:
    """Return a line for each port that cannot be used.

    Waits up to `patience` seconds for a port: processes of a product that was just killed may still be exiting.
    """
    problems = [f"port {port} for {name} does not exist" for name, port in ports.items() if port > _HIGHEST]
    taken = {name: port for name, port in ports.items() if port <= _HIGHEST and not is_free(port)}
    deadline = time.monotonic() + patience
    while taken and time.monotonic() < deadline:
        time.sleep(0.1)
        taken = {name: port for name, port in taken.items() if not is_free(port)}
    return problems + [
        f"port {port} for {name} is in use: stop what listens there, or choose another with --port"
        for name, port in taken.items()
    ]
