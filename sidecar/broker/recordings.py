"""Recordings of what the broker answered in a run, kept to rehearse a change of the skill on it."""

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
"""Bytes kept of one run; later exchanges are not recorded."""
MOST_RUNS = 30
"""Runs kept of one skill, the newest."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `exactly` is the key of the same request, `nearly` that of similar ones."""

    path: str
    exactly: str
    nearly: str
    has_effect: bool
    ask: Mapping[str, Any]
    answer: ServiceAnswer


class Recordings:
    """Files `<folder>/<stem>/<run_id>.jsonl`.

    They hold no secrets: requests contain only their names, and answers are masked.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def record(
        self, stem: str, run_id: str, path: str, request: BrokerRequest, answer: ServiceAnswer, *, has_effect: bool
    ) -> None:
        """Add an exchange to a run's recording, while there is room."""
        entry = {
            "path": path,
            "exactly": exact_key(path, request),
            "nearly": similar_key(path, request),
            "has_effect": has_effect,
            "ask": request_words(request),
            "answer": answer,
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._write(stem, run_id, line)

    def keep_memos(self, stem: str, run_id: str, memos: Mapping[str, Any]) -> None:
        """Add what the engine remembers of the steps of a completed run, by step id."""
        self._write(stem, run_id, json.dumps({"memos": memos}, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def memos(self, stem: str, run_id: str) -> Mapping[str, Any] | None:
        """Return the memos of a run, if they were kept."""
        return next((one["memos"] for one in self._entries(stem, run_id) if "memos" in one), None)

    def read_exchanges(self, stem: str, run_id: str) -> tuple[Exchange, ...]:
        """Return what was recorded of a run; nothing when it is not kept."""
        return tuple(self._exchanges(stem, run_id))

    def find_answer(self, stem: str, run_id: str, path: str, request: BrokerRequest) -> ServiceAnswer | None:
        """Return the recorded answer to the same request in the same run."""
        name = exact_key(path, request)
        return next((one.answer for one in self._exchanges(stem, run_id) if one.exactly == name), None)

    def _exchanges(self, stem: str, run_id: str) -> Iterator[Exchange]:
        for entry in self._entries(stem, run_id):
            if "path" in entry:
                yield Exchange(**entry)

    def _entries(self, stem: str, run_id: str) -> Iterator[dict[str, Any]]:
        file = self._file(stem, run_id)
        if file is None or not file.is_file():
            return
        for line in file.read_bytes().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                # A process that is killed can leave half a line.
                continue
            if isinstance(entry, dict):
                yield entry

    def _write(self, stem: str, run_id: str, line: bytes) -> None:
        file = self._file(stem, run_id)
        if file is None:
            return
        try:
            with self._lock:
                self._append(file, line)
        except OSError as error:
            _log.warning("a run of %s could not be recorded: %s", stem, error)

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


def request_words(request: BrokerRequest) -> dict[str, Any]:
    """Return what is asked for, without what only says how or when."""
    match request:
        case HttpRequest():
            return request.model_dump(mode="json", exclude={"headers", "timeout"})
        case EventsRequest():
            # The SDK sets each event's time when it sends it.
            return request.model_dump(mode="json", exclude={"events": {"__all__": {"ts"}}})
        case _:
            return request.model_dump(mode="json", by_alias=True)


def exact_key(path: str, request: BrokerRequest) -> str:
    """Return the key of a request: equal for equal content."""
    return json_digest([path, request_words(request)])


def similar_key(path: str, request: BrokerRequest) -> str:
    """Return the key of similar requests: a changed skill may ask for the same thing in other words."""
    match request:
        case HttpRequest():
            return f"{path} {request.method} {request.url.partition('?')[0]}"
        case LlmRequest():
            return f"{path} {request.name}"
        case _:
            return path


def _forget_old(folder: Path) -> None:
    """Delete all recordings of a skill but the newest."""
    files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    for file in files[MOST_RUNS:]:
        file.unlink(missing_ok=True)
