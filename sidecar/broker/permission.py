"""Whether a skill may: what its manifest names and a person granted. Pure."""

from __future__ import annotations

from decimal import Decimal

from sidecar.broker.denied import Denied
from sidecar.broker.identity import Identity
from sidecar.broker.place import Place, names_port
from skills.checks.events import wrong_event
from skills.refusals import What

_MODEL = "model:"


def reach(identity: Identity, place: Place) -> None:
    """Raises Denied unless the skill may send requests there."""
    declared = [host for host in identity.manifest.permissions.hosts if place.is_declared_as(host)]
    if not declared:
        raise Denied("host", f"{place.host}:{place.port} is not among the hosts of the manifest")
    if not any(f"host:{host}" in identity.granted for host in declared):
        raise _not_granted("host", f"to reach {declared[0]}")


def use_secret(identity: Identity, name: str, place: Place) -> None:
    """Raises Denied unless the secret is this skill's, and for this host."""
    host = identity.manifest.permissions.secrets.get(name)
    if host is None:
        raise Denied("secret", f"{name} is not among the secrets of the manifest")
    if not place.is_declared_as(host):
        raise Denied("secret", f"{name} is for {host} and is not sent to {place.host}:{place.port}")
    if place.scheme == "http" and not names_port(host):
        raise Denied("secret", f"{name} goes to {host} over https only, unless the manifest names the port")
    if f"secret:{name}@{host}" not in identity.granted:
        raise _not_granted("secret", f"to use {name}")


def has_secret(identity: Identity, name: str, place: Place) -> bool:
    """Whether the skill may use the secret there."""
    try:
        use_secret(identity, name, place)
    except Denied:
        return False
    return True


def send(identity: Identity, event: str) -> None:
    """Raises Denied unless the skill may send events of this name; the engine's and our own nobody may."""
    if reason := wrong_event(event):
        raise Denied("event", f"{reason}: no skill sends it")
    if event not in identity.manifest.permissions.events.get("send", []):
        raise Denied("event", f"{event} is not among the events that the manifest sends")
    if f"send:{event}" not in identity.granted:
        raise _not_granted("event", f"to send {event}")


def tell(identity: Identity, channel: str) -> None:
    """Raises Denied unless the skill may write to the channel."""
    if channel not in identity.manifest.permissions.notify:
        raise Denied("notify", f"{channel} is not among the channels of the manifest")
    if f"notify:{channel}" not in identity.granted:
        raise _not_granted("notify", f"to write to {channel}")


def give_work(identity: Identity) -> None:
    """Raises Denied unless the skill may ask the agent."""
    if not identity.manifest.permissions.ask_agent:
        raise Denied("ask_agent", "the manifest does not say ask_agent: True")
    if "ask_agent" not in identity.granted:
        raise _not_granted("ask_agent", "to give the agent work")


def remember(identity: Identity) -> None:
    """Raises Denied unless the skill may search the memory."""
    if identity.manifest.permissions.memory != "read":
        raise Denied("memory", 'the manifest does not say memory: "read"')
    if "memory:read" not in identity.granted:
        raise _not_granted("memory", "to search the memory")


def budget(identity: Identity) -> Decimal:
    """What the skill may spend on the model in a day, in USD; raises Denied where that is nothing."""
    declared = Decimal(identity.manifest.permissions.model_budget_per_day)
    if declared <= 0:
        raise Denied("model", "the manifest gives no model_budget_per_day")
    granted = [Decimal(one.removeprefix(_MODEL)) for one in identity.granted if one.startswith(_MODEL)]
    if not granted:
        raise _not_granted("model", "to ask the model")
    return min(declared, max(granted))


def _not_granted(what: What, wish: str) -> Denied:
    return Denied(what, f"the manifest asks {wish}, and nobody has granted that yet")
