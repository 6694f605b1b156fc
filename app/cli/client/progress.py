"""Progress of a message for `say --wait`, as lines, read again at every change of the workspace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import click
import httpx

from app.cli.client.api import Api, ApiRefusal
from app.cli.output import plain_line, plain_paragraphs

_OPEN_TURN = {"queued", "running"}
_UNROUTED = {"received", "routed"}
# States in which a task does nothing until a person acts.
_RESTING = {"blocked", "paused", "stopped", "archived"}
# Longer than the pause between two heartbeats of the stream.
_SILENCE_SECONDS = 30.0
_RECONNECT_SECONDS = 1.0
_PATH = "/api/v1/events"


@dataclass
class MessageProgress:
    """The lines about a message, each returned once. `ended` is set once the work waits, ends or asks."""

    api: Api
    message_id: str
    ended: bool = False
    _shown: set[str] = field(default_factory=set)
    _checked: dict[str, str] = field(default_factory=dict)
    """By work, its `updated_at` when its versions were read last."""

    def read_new_lines(self) -> list[str]:
        """Read the message again and return the lines that are new."""
        message = self.api.get(f"/api/v1/messages/{self.message_id}")
        lines = self._lines(message)
        new = [line for line in lines if line not in self._shown]
        self._shown.update(new)
        return new

    def _lines(self, message: dict[str, Any]) -> list[str]:
        route = message.get("route") or {}
        task_id = route.get("task_id")
        # A message has its route before the new task has its row.
        lines = [_route_line(route)] if task_id or route.get("outcome") in {"main", "ask"} else []
        match message["state"], route.get("outcome"):
            case ("withdrawn" | "replaced" | "superseded") as state, _:
                self.ended = True
                lines.append(f"the message is {state}")
                lines += [_task_line(self.api.get(f"/api/v1/tasks/{task_id}"))] if state == "superseded" else []
            case _, "ask":
                self.ended = True
                lines += self._questions()
            case state, _ if task_id and state not in _UNROUTED:
                lines += self._task(task_id, message)
            case "answered", _:
                self.ended = True
                lines += self._replies(message)
            case _:
                pass
        return lines

    def _replies(self, message: dict[str, Any]) -> list[str]:
        found = [self.api.get(f"/api/v1/messages/{reply}") for reply in message.get("replies") or []]
        return [plain_paragraphs(reply["text"]) for reply in found if reply.get("text")]

    def _task(self, task_id: str, message: dict[str, Any]) -> list[str]:
        """Read the task once: a second response could be newer, and end the progress before its lines were shown."""
        task = self.api.get(f"/api/v1/tasks/{task_id}")
        steps = [_step_line(step) for step in task.get("checklist") or [] if step["status"] != "todo"]
        if not message.get("consumed_by"):
            # Steps that were done before this message.
            self._shown.update(steps)
        since = _parse_time(message["created_at"])
        lines = [*steps, *self._made(task, since), *self._replies(message)]
        cards = task["open_cards"]
        asked = any(_parse_time(card["created_at"]) >= since for card in cards)
        if asked or task["status"] in _RESTING or _is_settled(task, message):
            self.ended = True
            lines += [*map(_card_line, cards), _task_line(task)]
        return lines

    def _made(self, task: dict[str, Any], since: datetime) -> list[str]:
        """Return a line for each version that the task has made since then."""
        lines = []
        for work in task.get("objects") or []:
            if _parse_time(work["updated_at"]) < since or self._checked.get(work["id"]) == work["updated_at"]:
                continue
            self._checked[work["id"]] = work["updated_at"]
            for version in reversed(self.api.items(f"/api/v1/objects/{work['id']}/history")):
                if version["created_by"] == f"task:{task['id']}" and _parse_time(version["created_at"]) >= since:
                    lines.append(f"made {plain_line(version['title'])} v{version['version']} ({work['id']})")
        return lines

    def _questions(self) -> list[str]:
        cards = self.api.items("/api/v1/cards", state="open")
        return [_card_line(card) for card in cards if card.get("task_id") is None]


def _is_settled(task: dict[str, Any], message: dict[str, Any]) -> bool:
    """Return whether the message's turn is over, no other runs, and no generation is awaited."""
    if not message.get("consumed_by"):
        return bool(message["state"] == "answered")
    if (task.get("waiting_on") or {}).get("type") == "generation":
        return False
    return not any(turn["status"] in _OPEN_TURN for turn in task["turns"])


def _parse_time(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def _route_line(route: dict[str, Any]) -> str:
    where = {"main": "Main answers", "light": "a task of its own", "new": "a new task", "ask": "a question first"}
    outcome = str(route.get("outcome"))
    return f"→ {where.get(outcome, 'task')} {plain_line(route.get('task_id'))}".rstrip()


def _step_line(step: dict[str, Any]) -> str:
    return f"  {step['n']}. {plain_line(step['title'])}: {step['status']}"


def _task_line(task: dict[str, Any]) -> str:
    waiting = task.get("waiting_on") or {}
    reason = f", for {plain_line(waiting.get('type'))}" if waiting.get("type") else ""
    return f"{task['id']} is {task['status']}{reason}"


def _card_line(card: dict[str, Any]) -> str:
    options = " | ".join(option["id"] for option in card["options"])
    body = f": {plain_line(card['body'])}" if card.get("body") else ""
    return f"? {plain_line(card['title'])}{body}\n  loopwright answer {card['id']} {options}"


@dataclass
class ChangeStream:
    """Signals every change after `last_id`, across restarts of the server."""

    api: Api
    last_id: str | None = None

    def signal_changes(self, seconds: float) -> Iterator[None]:
        """Yield now and whenever something may have changed, for at most this long.

        A signal carries no data: the caller reads the state itself, so a lost signal only delays it.
        """
        deadline = time.monotonic() + seconds
        yield
        while time.monotonic() < deadline:
            try:
                with self.api.stream(_PATH, self.last_id, _SILENCE_SECONDS) as lines:
                    # Something may have changed while there was no stream.
                    yield
                    yield from self._changes(lines, deadline)
            except httpx.TransportError:
                pass
            except ApiRefusal as refused:
                if refused.status != 503:
                    raise
            time.sleep(_RECONNECT_SECONDS)
            yield

    def _changes(self, lines: Iterator[str], deadline: float) -> Iterator[None]:
        for line in lines:
            if line.startswith("id:"):
                self.last_id = line.removeprefix("id:").strip()
            elif not line:
                yield
            if time.monotonic() >= deadline:
                return


def timeout_error(seconds: float) -> click.ClickException:
    return click.ClickException(f"still at work after {seconds:.0f} s; look again with `loopwright tasks`")
