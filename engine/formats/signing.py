"""Signatures of requests and answers, and the keys that API callers present."""

import hashlib
import hmac
import re
from collections.abc import Iterable

_PREFIX = re.compile(r"^signkey-[\w]+-")


def bare_key(key: str) -> str:
    """Remove the `signkey-<env>-` prefix of a key."""
    return _PREFIX.sub("", key)


def check_signing_key(key: str) -> None:
    """Raise ValueError unless the key is hex of even length, bare or with the prefix `signkey-<env>-`."""
    try:
        if not bytes.fromhex(bare_key(key)):
            raise ValueError
    except ValueError:
        raise ValueError("the signing key must be hex of even length, bare or with the prefix signkey-<env>-") from None


def hashed_key(key: str) -> str:
    """Return the SHA-256 of the key's bytes in hex, which the SDK sends as a bearer token."""
    return hashlib.sha256(bytes.fromhex(bare_key(key))).hexdigest()


def sign_body(key: str, canonical_body: bytes, unix_s: int) -> str:
    """Make the `x-inngest-signature` of a body in JCS form, or of the raw bytes of an answer."""
    return f"t={unix_s}&s={_digest(key, canonical_body, str(unix_s))}"


def verify_signature(keys: Iterable[str], body: bytes, signature: str) -> bool:
    """Whether the signature is that of exactly these bytes by one of the keys."""
    parts = dict(part.split("=", 1) for part in signature.split("&") if "=" in part)
    moment, given = parts.get("t", ""), parts.get("s", "")
    return any(_same(_digest(key, body, moment), given) for key in keys)


def bearer_matches(keys: Iterable[str], authorization: str) -> bool:
    """Whether an `Authorization` header has one of the keys, plain or hashed, with or without prefix."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token:
        return False
    shown = bare_key(token.strip())
    return any(_same(bare_key(key), shown) | _same(hashed_key(key), shown) for key in keys)


def matches_any_key(known: Iterable[str], shown: str) -> bool:
    """Whether the key is one of the known ones, compared in constant time."""
    return sum(_same(key, shown) for key in known) > 0


def _digest(key: str, body: bytes, moment: str) -> str:
    mac = hmac.new(bare_key(key).encode(), body, hashlib.sha256)
    mac.update(moment.encode())
    return mac.hexdigest()


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())
