"""Signed addresses: a provider can fetch stored bytes from one without a key until it expires."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime

from core.errors import RefusedError


@dataclass(frozen=True)
class AssetAddresses:
    """Signs and checks `/api/v1/assets/{sha256}?exp=&sig=` with a shared secret."""

    secret: str = field(repr=False)

    def address(self, web_url: str, sha256: str, until: datetime) -> str:
        """Return the absolute address of these bytes, valid until that time."""
        expiry = str(int(until.timestamp()))
        return f"{web_url.rstrip('/')}/api/v1/assets/{sha256}?exp={expiry}&sig={self._signature(sha256, expiry)}"

    def check(self, sha256: str, expiry: str, signature: str, now: datetime) -> None:
        """Raise RefusedError unless we signed the address and it has not expired."""
        expected = self._signature(sha256, expiry)
        if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
            raise RefusedError("the address is not one of ours: its signature does not fit")
        if datetime.fromtimestamp(int(expiry), UTC) <= now:
            raise RefusedError("the address has expired: ask for a fresh one")

    def _signature(self, sha256: str, expiry: str) -> str:
        signed = f"asset.{sha256}.{expiry}".encode("utf-8", "replace")
        return hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
