"""A request to watch something in the background, read from a message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from standins.model.rules.vocabulary import MAKING, kinds_named, words

_THING = re.compile(
    r"\b(checkout|payments?|search|login|sign-?in|cart|shop|store|orders?|api|back-?end|database|web ?site|site|"
    r"servers?|services?|infrastructure|latency|queues?|caisse|paiements?|serveurs?|panier|boutique|base de données|"
    r"latence)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(slow\w*|latency|spikes?|spiking|down|errors?|outages?|time-?outs?|times out|crash\w*|fail\w*|unreachable|"
    r"degrad\w*|overload\w*|lente?s?|lentement|latence|pics?|pannes?|erreurs?|tombe\w*|ralenti\w*)\b",
    re.IGNORECASE,
)
_UNSEEN = re.compile(
    r"\b(nobody|no one|none of us|hear of it|hear about it|find out|learn of it|notic\w+|breakfast|morning|midnight|"
    r"at night|overnight|nights?|weekends?|monitor\w*|watch\w*|alert\w*|tell us when|tell me when|let us know|"
    r"health ?checks?|keep an eye|on call|personne|matin|la nuit|minuit|surveill\w*|préven\w+|alert\w*)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b(https?)://([A-Za-z0-9.\-]+(?::\d{1,5})?)(?!\w|\.\w|:\d)", re.IGNORECASE)
_MINUTES = re.compile(r"\b(?:every|toutes les) (\d{1,2}) (?:minutes?|min)\b", re.IGNORECASE)
_GENERAL = frozenset(("service", "services", "server", "servers", "infrastructure", "latency", "latence", "serveurs"))
_ONLY_ASKS = frozenset(
    ("why", "what", "when", "how", "which", "who", "is", "are", "does", "did", "pourquoi", "comment")
)
_METRICS = re.compile(r"\b(metrics?|prometheus|métriques?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class WatchWish:
    """`service` is the named service, spelt for a file name, and `address` an origin such as `http://host:9090`.

    Either is empty if the text names none.
    """

    service: str
    address: str
    minutes: int | None


def wants_watching(text: str) -> bool:
    """Whether a text names a service, a trouble with it, and that people do not notice the trouble in time."""
    said = words(text)
    makes_a_work = bool(kinds_named(text)) and bool(MAKING & set(said))
    only_asks = bool(said) and said[0] in _ONLY_ASKS
    return not makes_a_work and not only_asks and all(pattern.search(text) for pattern in (_THING, _TROUBLE, _UNSEEN))


def names_metrics(text: str) -> bool:
    """Whether a text says where the metrics are."""
    return bool(_ADDRESS.search(text) and _METRICS.search(text))


def watch_wish(text: str) -> WatchWish:
    things = [match[0].lower() for match in _THING.finditer(text)]
    named = next((one for one in things if one not in _GENERAL), "")
    return WatchWish(
        service=re.sub(r"[^a-z0-9]+", "_", named).strip("_"), address=address_in(text), minutes=_minutes(text)
    )


def address_in(text: str) -> str:
    """Return the first address, without its path; empty if there is none."""
    found = _ADDRESS.search(text)
    return f"{found[1].lower()}://{found[2].rstrip('.')}" if found else ""


def _minutes(text: str) -> int | None:
    found = _MINUTES.search(text)
    return int(found[1]) if found and 1 <= int(found[1]) <= 59 else None
