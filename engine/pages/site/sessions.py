"""Sessions of people who signed in to the pages, and the tokens that their actions need."""

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

from engine.formats.signing import bare_key, bearer_matches

LIFETIME_MS = 12 * 3_600_000


class Sessions:
    """Sessions, each stored only in its signed cookie, so that all engine processes with the same keys accept it.

    Without keys there are no sessions, and tokens are valid for this process only.
    """

    def __init__(self, signing_keys: Sequence[str]) -> None:
        self._keys = tuple(signing_keys)
        self._secrets = [_mac(bare_key(key).encode(), "engine pages") for key in signing_keys] or [os.urandom(32).hex()]
        # Cookies ignore ports, so the names must differ between several engines on one host.
        self._names = [f"engine_{_mac(secret.encode(), 'name')[:8]}" for secret in self._secrets]

    @property
    def keyed(self) -> bool:
        """Whether the engine has keys, so that its pages need a session."""
        return bool(self._keys)

    @property
    def cookie_name(self) -> str:
        """Return the name of the cookie of a new session."""
        return self._names[0]

    def cookie_in(self, cookies: Mapping[str, str]) -> str:
        """Return the session's cookie among those of a request, or empty text."""
        return next((cookies[name] for name in self._names if name in cookies), "")

    def key_matches(self, presented: str) -> bool:
        """Whether this is one of the signing keys, in any form that the API accepts."""
        return bearer_matches(self._keys, f"Bearer {presented.strip()}")

    def begin(self, now: int) -> str:
        """Make the cookie of a new session."""
        content = f"{now + LIFETIME_MS}.{os.urandom(16).hex()}"
        return f"{content}.{_mac(self._secrets[0].encode(), f'session:{content}')}"

    def is_open(self, cookie: str, now: int) -> bool:
        """Whether the cookie is signed with one of the keys and has not expired."""
        content, _, signature = cookie.rpartition(".")
        ours = [_same(_mac(secret.encode(), f"session:{content}"), signature) for secret in self._secrets]
        return self.keyed and any(ours) and int(content.partition(".")[0]) > now

    def token(self, cookie: str) -> str:
        """Make the token that the pages of a session send with an action."""
        return _mac(self._secrets[0].encode(), f"token:{cookie}")

    def token_matches(self, cookie: str, presented: str) -> bool:
        """Whether a token belongs to the session with this cookie."""
        return any(_same(_mac(secret.encode(), f"token:{cookie}"), presented) for secret in self._secrets)


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode("utf-8", "surrogateescape"))
