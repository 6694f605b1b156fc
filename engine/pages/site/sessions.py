"""Sessions of people who are signed in to the pages, and the token that a change needs."""

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

from engine.formats.signing import bare_key, bearer_matches

LIFETIME_MS = 12 * 3_600_000


class Sessions:
    """Sessions live in their signed cookie alone: every engine process with the same keys knows them.

    Without keys nobody signs in, and the token is this process's own.
    """

    def __init__(self, signing_keys: Sequence[str]) -> None:
        self._keys = tuple(signing_keys)
        self._secrets = [_mac(bare_key(key).encode(), "engine pages") for key in signing_keys] or [os.urandom(32).hex()]
        # A browser may hold sessions of several engines on one host: cookies know no ports.
        self._names = [f"engine_{_mac(secret.encode(), 'name')[:8]}" for secret in self._secrets]

    @property
    def keyed(self) -> bool:
        return bool(self._keys)

    @property
    def cookie_name(self) -> str:
        """The name of new sessions' cookies."""
        return self._names[0]

    def cookie_in(self, cookies: Mapping[str, str]) -> str:
        """The session's cookie among a request's; empty when there is none."""
        return next((cookies[name] for name in self._names if name in cookies), "")

    def key_matches(self, shown: str) -> bool:
        """Whether this is one of the signing keys, in any form that the API takes."""
        return bearer_matches(self._keys, f"Bearer {shown.strip()}")

    def begin(self, now: int) -> str:
        """The cookie of a new session."""
        told = f"{now + LIFETIME_MS}.{os.urandom(16).hex()}"
        return f"{told}.{_mac(self._secrets[0].encode(), f'session:{told}')}"

    def is_open(self, cookie: str, now: int) -> bool:
        """Whether the cookie is one of ours, under either key, and has not run out."""
        told, _, seal = cookie.rpartition(".")
        ours = [_same(_mac(secret.encode(), f"session:{told}"), seal) for secret in self._secrets]
        return self.keyed and any(ours) and int(told.partition(".")[0]) > now

    def token(self, cookie: str) -> str:
        """What the pages of a session show when they ask for a change."""
        return _mac(self._secrets[0].encode(), f"token:{cookie}")

    def token_matches(self, cookie: str, shown: str) -> bool:
        return any(_same(_mac(secret.encode(), f"token:{cookie}"), shown) for secret in self._secrets)


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode("utf-8", "surrogateescape"))
