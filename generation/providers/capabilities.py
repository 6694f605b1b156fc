"""The providers' offers, cached for a minute, and checks of a request against them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.clock import Clock
from core.errors import InvalidError, UnavailableError
from core.process import crash
from generation.providers.port import Offer, Provider, get_provider

FRESH_FOR = timedelta(seconds=60)
USABLE_FOR = timedelta(hours=1)


@dataclass(frozen=True)
class ListedOffer:
    """An offer with the name of its provider."""

    provider: str
    offer: Offer


class Capabilities:
    """Cache of the providers' offers: each provider is asked at most once a minute.

    For a provider that does not answer, offers up to an hour old are still listed. `current_offer`, which is read
    before an order is sent, accepts none older than a minute.
    """

    def __init__(self, providers: Mapping[str, Provider], clock: Clock) -> None:
        self._providers = providers
        self._clock = clock
        self._cached: dict[str, tuple[datetime, Sequence[Offer]]] = {}
        self._lock = threading.Lock()

    def list_offers(self, kind: str | None = None) -> list[ListedOffer]:
        """Return every offer, in the order of the providers; raises UnavailableError when none of them answers."""
        found: list[ListedOffer] = []
        failure: UnavailableError | None = None
        for name, provider in self._providers.items():
            try:
                found.extend(ListedOffer(name, offer) for offer in self._offers(name, provider))
            except UnavailableError as error:
                failure = error
        if not found and failure is not None:
            raise failure
        return [one for one in found if kind is None or one.offer.kind == kind]

    def current_offer(self, provider: str, kind: str, model: str) -> Offer:
        """Return one provider's offer, from a list that is at most a minute old.

        Raises UnavailableError when the provider does not answer, InvalidError when it no longer offers this.
        """
        for offer in self._offers(provider, get_provider(self._providers, provider), usable=FRESH_FOR):
            if (offer.kind, offer.model) == (kind, model):
                return offer
        raise InvalidError(f"{provider} offers {model} no more; nothing was sent")

    def choose_offer(self, kind: str, model: str | None) -> ListedOffer:
        """Return the named model, or the first that makes this kind; raises InvalidError that lists what there is."""
        fitting = self.list_offers(kind)
        for one in fitting:
            if model is None or one.offer.model == model:
                return one
        if not fitting:
            raise InvalidError(f"no provider makes {kind} here; see the setting LOOPWRIGHT_GENERATORS")
        raise InvalidError(f"no model {model!r} makes {kind}; there is {', '.join(one.offer.model for one in fitting)}")

    def _offers(self, name: str, provider: Provider, usable: timedelta = USABLE_FOR) -> Sequence[Offer]:
        now = self._clock.now()
        with self._lock:
            cached = self._cached.get(name)
        if cached is not None and now - cached[0] < FRESH_FOR:
            return cached[1]
        try:
            with crash.around("provider.list"):
                offers = provider.capabilities()
        except UnavailableError:
            if cached is not None and now - cached[0] < usable:
                return cached[1]
            raise
        with self._lock:
            self._cached[name] = (now, offers)
        return offers


def choose_size(offer: Offer, size: str | None) -> str | None:
    """Return the size to ask for: the given one, or else the model's first."""
    if size is None:
        return offer.sizes[0] if offer.sizes else None
    wanted = size.strip().lower().replace("×", "x")
    if wanted in offer.sizes:
        return wanted
    if not offer.sizes:
        raise InvalidError(f"{offer.model} takes no size; leave it out")
    raise InvalidError(f"{offer.model} makes {', '.join(offer.sizes)}, not {size}")


def choose_seconds(offer: Offer, seconds: int | None) -> int | None:
    """Return the length in seconds to ask for: the given one, or else the model's first."""
    if seconds is None:
        return offer.durations[0] if offer.durations else None
    if seconds in offer.durations:
        return seconds
    if not offer.durations:
        raise InvalidError(f"{offer.model} takes no length; leave seconds out")
    lengths = ", ".join(str(length) for length in offer.durations)
    raise InvalidError(f"{offer.model} makes {offer.kind} of {lengths} seconds, not {seconds}")


def check_inputs(offer: Offer, given: Sequence[tuple[str, str]]) -> None:
    """Check `(role, media type)` of each input; raises InvalidError that says what the model takes."""
    slots = {slot.role: slot for slot in offer.inputs}
    for role, media_type in given:
        slot = slots.get(role)
        if slot is None:
            takes = " or ".join(slots) if slots else "nothing"
            raise InvalidError(f"{offer.model} takes {takes} to work from, no {role}")
        if slot.media_types and media_type not in slot.media_types:
            raise InvalidError(f"{offer.model} takes {', '.join(slot.media_types)} as {role}, not {media_type}")
        count = sum(1 for other, _ in given if other == role)
        if count > slot.most:
            raise InvalidError(f"{offer.model} takes at most {slot.most} {role}, not {count}")
