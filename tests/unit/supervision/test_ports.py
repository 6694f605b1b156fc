from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from app.supervision.ports import choose_ports, free_ports, port_problems


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    (port,) = free_ports(1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        yield port


def test_ports_follow_the_first() -> None:
    assert choose_ports(["web", "engine", "worker"], 8000) == {"web": 8000, "engine": 8001, "worker": 8002}


def test_free_ports_are_different_and_usable() -> None:
    ports = choose_ports(["web", "engine", "worker"], 0)

    assert len(set(ports.values())) == 3
    assert port_problems(ports, patience=0) == []


def test_free_ports_are_not_among_those_lent_to_outgoing_connections() -> None:
    assert all(port < 32_768 for port in free_ports(20))


def test_every_problem_is_named_in_a_line(taken: int) -> None:
    problems = port_problems({"web": taken, "engine": 65_536}, patience=0)

    assert problems == [
        "port 65536 for engine does not exist",
        f"port {taken} for web is in use: stop what listens there, or choose another with --port",
    ]


def test_a_port_that_is_freed_in_time_is_no_problem() -> None:
    (port,) = free_ports(1)
    listener = socket.create_server(("127.0.0.1", port))
    leaving = threading.Timer(0.3, listener.close)
    leaving.start()

    problems = port_problems({"web": port}, patience=10)

    leaving.join()
    assert problems == []
