"""Addresses that the broker never connects to: those of our own processes, however they are written."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from core.settings import Settings
from sidecar.broker.errors import RequestDenied, RequestFailed

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_CLOUD_METADATA = frozenset(
    ipaddress.ip_address(one)
    for one in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
)
"""Metadata services of clouds outside the link-local range, where most are."""
# In these networks, the last four bytes of an address are an IPv4 address.
_IPV4_IN_IPV6 = (
    ipaddress.IPv6Network("64:ff9b::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("::/96"),
)
_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432, "ws": 80, "wss": 443}


@dataclass(frozen=True)
class OwnAddress:
    """A host and port of one of our processes."""

    host: str
    port: int


class Addresses:
    """Resolves names, and refuses those that lead to our processes, to the local link or to a cloud's metadata."""

    def __init__(self, own: Iterable[OwnAddress], home: Path | None = None) -> None:
        self._own = frozenset(own)
        self._home = home

    def resolve(self, host: str, port: int) -> list[IpAddress]:
        """Return the addresses to connect to; raises RequestDenied, or RequestFailed when the name is unknown."""
        if any(one.host == host and one.port == port for one in self._own):
            raise _deny_own(host, port)
        found = resolve_host(host, port)
        for ip in (one for outer in found for one in (outer, *_embedded_ips(outer))):
            if ip.is_link_local or ip.is_multicast:
                raise RequestDenied("host", f"{host} leads to {ip} on the local link, where no skill may go")
            if ip in _CLOUD_METADATA:
                raise RequestDenied("host", f"{host} leads to {ip}, where clouds give their machines keys")
            if self._is_ours(ip, port):
                raise _deny_own(host, port)
        return found

    def _is_ours(self, ip: IpAddress, port: int) -> bool:
        here = is_local_address(ip)
        if here and port in self._supervised_ports():
            return True
        for one in self._own:
            if one.port != port:
                continue
            try:
                ours = resolve_host(one.host, port)
            except RequestFailed:
                continue
            # What listens on this machine may be reached at each of its addresses.
            if ip in ours or (here and any(is_local_address(known) for known in ours)):
                return True
        return False

    def _supervised_ports(self) -> set[int]:
        """Return the ports of this home's processes, as their supervisor has written them down."""
        if self._home is None:
            return set()
        try:
            items = json.loads((self._home / "processes.json").read_text())["items"]
            return {int(item["port"]) for item in items}
        except (OSError, ValueError, KeyError, TypeError):
            return set()


def own_addresses(settings: Settings, *urls: str) -> Iterator[OwnAddress]:
    """Yield the addresses of our processes, from the settings and from `urls`."""
    known = (
        settings.web_url,
        settings.worker_url,
        settings.sidecar_url,
        settings.jobs_url,
        settings.openai_base_url,
        settings.inngest_base_url,
        settings.inngest_dev if "://" in settings.inngest_dev else "",
        settings.database_url,
        settings.vector_url,
        settings.clock_url,
    )
    for url in (*known, *urls):
        parts = urlsplit(url)
        try:
            port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
        except ValueError:
            continue
        if parts.hostname and port:
            yield OwnAddress(parts.hostname.lower().rstrip("."), port)


def resolve_host(host: str, port: int) -> list[IpAddress]:
    """Return every address of a name, IPv4 ones unwrapped from IPv6; raises RequestFailed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        raise RequestFailed(f"the host {host} is not known", retriable=True) from None
    return list(dict.fromkeys(_plain_ip(ipaddress.ip_address(str(one[4][0]).partition("%")[0])) for one in found))


def is_local_address(ip: IpAddress) -> bool:
    """Return whether it is an address of this machine, which a socket can be bound to."""
    if ip.is_loopback or ip.is_unspecified:
        return True
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return False
    return True


def _plain_ip(ip: IpAddress) -> IpAddress:
    """Unwrap an IPv4 address that is written as IPv6."""
    if isinstance(ip, ipaddress.IPv6Address):
        return ip.ipv4_mapped or ip
    return ip


def _embedded_ips(ip: IpAddress) -> Iterator[IpAddress]:
    """Yield the IPv4 address that a gateway would translate it to."""
    if isinstance(ip, ipaddress.IPv4Address):
        return
    if ip.sixtofour is not None:
        yield ip.sixtofour
    if any(ip in network for network in _IPV4_IN_IPV6) and int(ip) > 1:
        yield ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)


def _deny_own(host: str, port: int) -> RequestDenied:
    return RequestDenied("host", f"{host}:{port} is a process of Loopwright itself, which no skill may reach")
