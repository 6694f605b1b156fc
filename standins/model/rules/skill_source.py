"""Edits of a skill's source as plain text: the stand-in matches patterns and parses no programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from standins.model.rules.watch_wish import WatchWish

_HOSTS = re.compile(r'"hosts":\s*\[\s*"([^"]+)"')
_CRON = re.compile(r'cron="(?:\*/\d+|\*) \* \* \* \*"')
_TITLE = re.compile(r'("title":\s*)"[^"\n]*"')
_INVOKES = re.compile(r"skill-incident_triage\b")
_IMPORT = re.compile(r"may not import ([\w.]+)")
_LISTENS = re.compile(r"(?:listens to|waits for|is cancelled by) (\S+), which its manifest does not name")
_LISTEN = re.compile(r'("listen":\s*\[)')
_PERMISSIONS = re.compile(r'("permissions":\s*\{)')


def adapt_source(source: str, wish: WatchWish, title: str, triage_id: str) -> str:
    """Adapt a pattern to a wish: title, address of the metrics, schedule, and the triage that it invokes."""
    text = _TITLE.sub(lambda match: match[1] + json.dumps(title), source, count=1)
    text = _INVOKES.sub(f"skill-{triage_id}", text)
    if wish.address:
        text = move_to_address(text, wish.address)
    if wish.minutes is not None:
        text = _CRON.sub(f'cron="*/{wish.minutes} * * * *"', text)
    return text


def move_to_address(source: str, address: str) -> str:
    """Return the source with its first declared host, that of the metrics, replaced by another address."""
    found = _HOSTS.search(source)
    if not found:
        return source
    scheme, _, host = address.partition("://")
    old = re.escape(found[1])
    # A longer name that only begins like the host is another host.
    return re.sub(rf"(?:https?://)?{old}(?![\w.:-])", lambda match: _as_before(match[0], scheme, host), source)


def host_of(source: str) -> str:
    """Return the first host that a source declares, that of its metrics; empty if it declares none."""
    found = _HOSTS.search(source)
    return found[1] if found else ""


def set_numbers(source: str, changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the source with each constant (`NAME`, or `NAME.key` for a number in a dict) set to its new value."""
    for change in changes:
        name, _, key = str(change.get("constant")).partition(".")
        to = change.get("to")
        if isinstance(to, int | float) and not isinstance(to, bool):
            source = _set_in_dict(source, name, key, to) if key else _set_constant(source, name, to)
    return source


def number_of(source: str, name: str) -> float | None:
    found = re.search(rf"^{re.escape(name)}\b[^=\n]*=\s*([0-9.]+)\s*$", source, re.MULTILINE)
    return float(found[1]) if found else None


def repair_source(source: str, problems: Sequence[Mapping[str, Any]]) -> str:
    """Return the source without the problems that rules can repair: forbidden imports and undeclared events."""
    lines = source.split("\n")
    for problem in problems:
        line, reason = problem.get("line"), str(problem.get("reason"))
        at = line - 1 if isinstance(line, int) and 0 < line <= len(lines) else None
        listened = _LISTENS.search(reason)
        if _IMPORT.search(reason) and at is not None:
            lines[at] = ""
        elif listened:
            lines = _add_listened_event("\n".join(lines), listened[1]).split("\n")
    return "\n".join(lines)


def _as_before(found: str, scheme: str, host: str) -> str:
    return f"{scheme}://{host}" if "://" in found else host


def _add_listened_event(source: str, event: str) -> str:
    name = json.dumps(event)
    if _LISTEN.search(source):
        return _LISTEN.sub(lambda match: f"{match[1]}{name}, ", source, count=1)
    return _PERMISSIONS.sub(lambda match: f'{match[1]}"events": {{"listen": [{name}]}}, ', source, count=1)


def _set_constant(source: str, name: str, to: float) -> str:
    pattern = re.compile(rf"^({re.escape(name)}\b[^=\n]*=\s*)-?[0-9][0-9_.eE+-]*", re.MULTILINE)
    return pattern.sub(lambda match: match[1] + _number_text(to), source, count=1)


def _set_in_dict(source: str, name: str, key: str, to: float) -> str:
    begin = re.search(rf"^{re.escape(name)}\b[^=\n]*=\s*\{{", source, re.MULTILINE)
    if begin is None:
        return source
    end = source.find("}", begin.end())
    inside = source[begin.end() : end]
    pattern = re.compile(rf"({re.escape(json.dumps(key))}:\s*)-?[0-9][0-9_.eE+-]*")
    return (
        source[: begin.end()] + pattern.sub(lambda match: match[1] + _number_text(to), inside, count=1) + source[end:]
    )


def _number_text(number: float) -> str:
    return repr(float(number)) if number != int(number) else f"{number:.1f}"
