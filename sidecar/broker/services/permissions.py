"""Permissions of a skill: what its manifest names and a person has granted. Pure."""

from __future__ import annotations

from decimal import Decimal

from sidecar.broker.errors import RequestDenied
from sidecar.broker.identity import SkillIdentity
from sidecar.broker.network.destination import Destination, declares_port
from skills.book.refusals import RefusalKind
from skills.format.events import wrong_event

_MODEL = "model:"


def require_host(identity: SkillIdentity, destination: Destination) -> None:
    """Raise RequestDenied unless the skill may send requests to the destination."""
    declared = [host for host in identity.manifest.permissions.hosts if destination.is_declared_as(host)]
    if not declared:
        raise RequestDenied("host", f"{destination.host}:{destination.port} is not among the hosts of the manifest")
    if not any(f"host:{host}" in identity.granted for host in declared):
        raise _not_granted("host", f"to reach {declared[0]}")


def require_secret(identity: SkillIdentity, name: str, destination: Destination) -> None:
    """Raise RequestDenied unless the skill may send the secret to the destination."""
    host = identity.manifest.permissions.secrets.get(name)
    if host is None:
        raise RequestDenied("secret", f"{name} is not among the secrets of the manifest")
    if not destination.is_declared_as(host):
        raise RequestDenied("secret", f"{name} is for {host} and is not sent to {destination.host}:{destination.port}")
    if destination.scheme == "http" and not declares_port(host):
        raise RequestDenied("secret", f"{name} goes to {host} over https only, unless the manifest names the port")
    if f"secret:{name}@{host}" not in identity.granted:
        raise _not_granted("secret", f"to use {name}")


def has_secret(identity: SkillIdentity, name: str, destination: Destination) -> bool:
    """Return whether the skill may send the secret to the destination."""
    try:
        require_secret(identity, name, destination)
    except RequestDenied:
        return False
    return True


def require_event(identity: SkillIdentity, event: str) -> None:
    """Raise RequestDenied unless the skill may send events of this name; the engine's and our own are never allowed."""
    if reason := wrong_event(event):
        raise RequestDenied("event", f"{reason}: no skill may send it")
    if event not in identity.manifest.permissions.events.get("send", []):
        raise RequestDenied("event", f"{event} is not among the events that the manifest sends")
    if f"send:{event}" not in identity.granted:
        raise _not_granted("event", f"to send {event}")


def require_channel(identity: SkillIdentity, channel: str) -> None:
    """Raise RequestDenied unless the skill may write to the channel."""
    if channel not in identity.manifest.permissions.notify:
        raise RequestDenied("notify", f"{channel} is not among the channels of the manifest")
    if f"notify:{channel}" not in identity.granted:
        raise _not_granted("notify", f"to write to {channel}")


def require_agent(identity: SkillIdentity) -> None:
    """Raise RequestDenied unless the skill may ask the agent."""
    if not identity.manifest.permissions.ask_agent:
        raise RequestDenied("ask_agent", "the manifest does not say ask_agent: True")
    if "ask_agent" not in identity.granted:
        raise _not_granted("ask_agent", "to give the agent work")


def require_memory(identity: SkillIdentity) -> None:
    """Raise RequestDenied unless the skill may search the memory."""
    if identity.manifest.permissions.memory != "read":
        raise RequestDenied("memory", 'the manifest does not say memory: "read"')
    if "memory:read" not in identity.granted:
        raise _not_granted("memory", "to search the memory")


def require_model_budget(identity: SkillIdentity) -> Decimal:
    """Return what the skill may spend on the model in a day, in USD; raises RequestDenied if that is nothing."""
    declared = Decimal(identity.manifest.permissions.model_budget_per_day)
    if declared <= 0:
        raise RequestDenied("model", "the manifest gives no model_budget_per_day")
    granted = [Decimal(one.removeprefix(_MODEL)) for one in identity.granted if one.startswith(_MODEL)]
    if not granted:
        raise _not_granted("model", "to ask the model")
    return min(declared, max(granted))


def _not_granted(what: RefusalKind, wish: str) -> RequestDenied:
    return RequestDenied(what, f"the manifest asks {wish}, which has not been granted yet")
