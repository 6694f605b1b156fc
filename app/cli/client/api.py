"""A client of the HTTP API for the commands."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import httpx

# A list is fetched page by page up to this many items; more are of no use in a terminal.
_MOST_ITEMS = 1000
# The characters of ids. Any other could lead to another address than the command means.
_PART = re.compile(r"(?!\.+$)[\w.:-]+", re.ASCII)


class ApiRefusal(click.ClickException):
    """The API refused a request with HTTP status `status`. The message is the problem's own detail."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """A connection with one key. A refusal, or no answer, becomes a ClickException: exit status 1."""

    def __init__(self, url: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        if not (token.isascii() and token.isprintable() and token.strip()):
            raise click.ClickException("the key has characters that no key of Loopwright has: copy it again")
        headers = {"Authorization": f"Bearer {token}"}
        self.url = url
        with self._translated():
            # Loading the certificates takes as long as the command itself.
            verify = not url.startswith("http:")
            self._http = httpx.Client(
                base_url=url, headers=headers, timeout=30, trust_env=False, verify=verify, transport=transport
            )

    def get(self, path: str, **query: object) -> Any:
        return self._answer("GET", path, params=_given_query(query)).json()

    def items(self, path: str, **query: object) -> list[dict[str, Any]]:
        """Return all items of a list, page after page."""
        found: list[dict[str, Any]] = []
        cursor: object = None
        while len(found) < _MOST_ITEMS:
            page = self.get(path, **query, cursor=cursor)
            found += page["items"]
            cursor = page.get("next")
            if cursor is None:
                break
        return found

    def post(self, path: str, body: object = None) -> Any:
        # One key for each run of the command, so that a proxy's retry changes nothing.
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self._answer("POST", path, json={} if body is None else body, headers=headers)
        return answer.json() if answer.content else None

    def put(self, path: str, body: object) -> Any:
        return self._answer("PUT", path, json=body).json()

    def delete(self, path: str) -> Any:
        answer = self._answer("DELETE", path)
        return answer.json() if answer.content else None

    def upload(self, file: Path) -> str:
        """Store a file as a new object and return its id."""
        with file.open("rb") as content:
            answer = self._answer(
                "POST",
                "/api/v1/objects",
                files={"file": (file.name, content)},
                data={"title": file.name},
                headers={"Idempotency-Key": uuid.uuid4().hex},
                timeout=600,
            )
        return str(answer.json()["id"])

    def download(self, path: str, target: Path, **query: object) -> None:
        """Download `path` into a file, which is replaced only when the download is complete."""
        part = target.with_name(f".{target.name}.part")
        with self._translated(), self._http.stream("GET", _checked_path(path), params=_given_query(query)) as answer:
            _raise_refusal(answer)
            try:
                with part.open("wb") as file:
                    for piece in answer.iter_bytes():
                        file.write(piece)
                part.replace(target)
            except OSError as error:
                raise click.ClickException(f"{target} cannot be written ({error.strerror})") from None
            finally:
                part.unlink(missing_ok=True)

    @contextmanager
    def stream(self, path: str, last_id: str | None, patience: float) -> Iterator[Iterator[str]]:
        """Yield the lines of an event stream after `last_id`; a silence of `patience` seconds ends it."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        timeout = httpx.Timeout(30, read=patience)
        with self._http.stream("GET", path, headers=headers, timeout=timeout) as answer:
            _raise_refusal(answer)
            yield answer.iter_lines()

    def _answer(self, method: str, path: str, **more: Any) -> httpx.Response:
        with self._translated():
            answer = self._http.request(method, _checked_path(path), **more)
            _raise_refusal(answer)
            return answer

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise click.ClickException(f"Loopwright does not answer at {self.url} ({error})") from None
        except UnicodeEncodeError:
            raise click.UsageError("an argument is not UTF-8: check the encoding of this terminal") from None


def _checked_path(path: str) -> str:
    for part in path.removeprefix("/").split("/"):
        if not _PART.fullmatch(part):
            raise click.UsageError(f"{part!r} is not an id")
    return path


def _given_query(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value is not None}


def _raise_refusal(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    answer.read()
    try:
        problem = answer.json()
        words = problem.get("detail") or problem.get("title")
    except (ValueError, AttributeError):
        words = None
    raise ApiRefusal(answer.status_code, str(words or f"the server answered {answer.status_code}"))
