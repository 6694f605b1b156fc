"""Which version a request speaks of."""

from __future__ import annotations

import re

from flask import request

from app.web.problems import PreconditionMissingError
from core.errors import InvalidError

_IF_MATCH = re.compile(r'(?:W/)?"?([0-9]{1,9})"?')


def asked_version() -> int | None:
    """`version=` of the query; None for the current one."""
    raw = request.args.get("version")
    if raw is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", raw):
        raise InvalidError(f"version is a number such as 1, not {raw[:40]!r}")
    return int(raw)


def required_base() -> int:
    """The version in `If-Match`; raises PreconditionMissingError without one."""
    raw = request.headers.get("If-Match")
    if raw is None:
        raise PreconditionMissingError("say in `If-Match` which version you changed, as in If-Match: 3")
    match = _IF_MATCH.fullmatch(raw.strip())
    if match is None:
        raise InvalidError(f"If-Match is a version number such as 3, not {raw[:40]!r}")
    return int(match[1])
