"""Recordings of what the broker answered in a run, kept to try a change of the skill on it."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.broker.requests import BrokerRequest, EventsRequest, HttpRequest, LlmRequest
from sidecar.broker.service import ServiceAnswer, json_digest

_log = logging.getLogger(__name__)
MAX_RUN = 1024 * 1024
"""Bytes kept of one run; what comes after is not."""
MOST_RUNS = 30
"""Runs kept of one skill, the newest."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `exactly` names the request, `nearly` the kind of thing it asks for."""

    path: str
    exactly: str
    nearly: str
    has_effect: bool
    ask: Mapping[str, Any]
    answer: ServiceAnswer


class Recordings:
    """`<folder>/<stem>/<run_id>.jsonl`. Secrets never get here: requests name them, and answers were masked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def keep(
        self, stem: str, run_id: str, path: str, ask: BrokerRequest, answer: ServiceAnswer, *, has_effect: bool
    ) -> None:
        """Add to a run's recording, while there is room in it."""
        entry = {
            "path": path,
            "exactly": exact_key(path, ask),
            "nearly": similar_key(path, ask),
            "has_effect": has_effect,
            "ask": request_words(ask),
            "answer": answer,
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._write(stem, run_id, line)

    def keep_memos(self, stem: str, run_id: str, memos: Mapping[str, Any]) -> None:
        """Add what the engine remembers of the run's steps, by their ids: told once, when the run has ended."""
        self._write(stem, run_id, json.dumps({"memos": memos}, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def memos(self, stem: str, run_id: str) -> Mapping[str, Any] | None:
        """The memos of a run, where they were kept."""
        return next((one["memos"] for one in self._lines(stem, run_id) if "memos" in one), None)

    def read(self, stem: str, run_id: str) -> tuple[Exchange, ...]:
        """What was recorded of a run; nothing when it is forgotten."""
        return tuple(self._exchanges(stem, run_id))

    def answer_of(self, stem: str, run_id: str, path: str, ask: BrokerRequest) -> ServiceAnswer | None:
        """What the same request was answered in the same run."""
        name = exact_key(path, ask)
        return next((one.answer for one in self._exchanges(stem, run_id) if one.exactly == name), None)

    def _exchanges(self, stem: str, run_id: str) -> Iterator[Exchange]:
        for said in self._lines(stem, run_id):
            if "path" in said:
                yield Exchange(**said)

    def _lines(self, stem: str, run_id: str) -> Iterator[dict[str, Any]]:
        file = self._file(stem, run_id)
        if file is None or not file.is_file():
            return
        for line in file.read_bytes().splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                # A process that was killed leaves half a line.
                continue
            if isinstance(said, dict):
                yield said

    def _write(self, stem: str, run_id: str, line: bytes) -> None:
        file = self._file(stem, run_id)
        if file is None:
            return
        try:
            with self._lock:
                self._append(file, line)
        except OSError as error:
            _log.warning("the recording of a run of %s is not kept: %s", stem, error)

    def _append(self, file: Path, line: bytes) -> None:
        fresh = not file.exists()
        if fresh:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "ab") as out:
            if out.tell() + len(line) <= MAX_RUN:
                out.write(line)
        if fresh:
            _forget_old(file.parent)

    def _file(self, stem: str, run_id: str) -> Path | None:
        if not _NAME.fullmatch(stem) or not _NAME.fullmatch(run_id):
            return None
        return self._folder / stem / f"{run_id}.jsonl"


def request_words(ask: BrokerRequest) -> dict[str, Any]:
    """What is asked, without what only says how or when."""
    match ask:
        case HttpRequest():
            return ask.model_dump(mode="json", exclude={"headers", "timeout"})
        case EventsRequest():
            # The SDK dates each event when it is sent.
            return ask.model_dump(mode="json", exclude={"events": {"__all__": {"ts"}}})
        case _:
            return ask.model_dump(mode="json", by_alias=True)


def exact_key(path: str, ask: BrokerRequest) -> str:
    """The request's name: the same words are the same request."""
    return json_digest([path, request_words(ask)])


def similar_key(path: str, ask: BrokerRequest) -> str:
    """What a changed skill asks in other words is likely to be the same thing."""
    match ask:
        case HttpRequest():
            return f"{path} {ask.method} {ask.url.partition('?')[0]}"
        case LlmRequest():
            return f"{path} {ask.name}"
        case _:
            return path


def _forget_old(folder: Path) -> None:
    files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    for file in files[MOST_RUNS:]:
        file.unlink(missing_ok=True)
