"""The vector index on a Chroma server, over its HTTP API.

Chroma's own client is not used: it would cost each process that searches 76 MB and most of a second, and it reports
usage.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from core.http_client import http_client_for
from core.search.index import EntryKey, IndexAwayError, IndexBrokenError, IndexItem, IndexLostError, Where

_PATH = "/api/v2/tenants/default_tenant/databases/default_database/collections"
_SECONDS = 5.0
_ALIVE_SECONDS = 1.0
_PAGE = 1_000
_MISSING, _FAILED = 404, 500
_FLOAT_BYTES = 4
T = TypeVar("T")


class _Collection(BaseModel):
    id: str


class _Metadata(BaseModel):
    room: str
    id: str
    stamp: str


class _Got(BaseModel):
    metadatas: list[_Metadata]


class _Near(BaseModel):
    metadatas: list[list[_Metadata]]


_COLLECTION, _GOT, _NEAR, _COUNT = TypeAdapter(_Collection), TypeAdapter(_Got), TypeAdapter(_Near), TypeAdapter(int)


class ChromaIndex:
    """Speaks to the server at `url`; opens nothing before it is asked, and any thread may ask."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        # The server names a collection by an id of its own; one that was lost comes back under another.
        self._ids: dict[str, str] = {}

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        conditions = [
            {"workspace": {"$eq": where.workspace_id}},
            {"room": {"$eq": where.room}},
            {"scope": {"$in": list(where.scopes)}},
        ]
        asked = {
            "query_embeddings": [_numbers(vector)],
            "n_results": count,
            "where": {"$and": conditions},
            "include": ["metadatas"],
        }
        answer = self._of_collection(collection, "query", asked, within)
        if answer is None:
            raise IndexLostError(f"the index at {self._url} has no {collection}")
        return [one.id for one in self._read(_NEAR, answer).metadatas[0]]

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        if not items:
            return
        asked = {
            "ids": [_key(item.room, item.id) for item in items],
            "embeddings": [_numbers(item.vector) for item in items],
            "metadatas": [
                {"workspace": workspace_id, "room": item.room, "scope": item.scope, "id": item.id, "stamp": item.stamp}
                for item in items
            ],
        }
        self._make(collection)
        if self._of_collection(collection, "upsert", asked) is None:
            # It was lost since it was last seen.
            self._make(collection)
            if self._of_collection(collection, "upsert", asked) is None:
                raise IndexAwayError(f"the index at {self._url} lost {collection} while it was written")

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        if keys:
            self._of_collection(collection, "delete", {"ids": [_key(key.room, key.id) for key in keys]})

    def count(self, collection: str) -> int:
        answer = self._of_collection(collection, "count", None)
        return 0 if answer is None else self._read(_COUNT, answer)

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        if not keys:
            return set()
        asked = {"ids": [_key(key.room, key.id) for key in keys], "include": ["metadatas"]}
        answer = self._of_collection(collection, "get", asked)
        found = [] if answer is None else self._read(_GOT, answer).metadatas
        return {EntryKey(one.room, one.id) for one in found}

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        found: dict[EntryKey, str] = {}
        offset = 0
        while True:
            asked = {"limit": _PAGE, "offset": offset, "include": ["metadatas"]}
            answer = self._of_collection(collection, "get", asked)
            page = [] if answer is None else self._read(_GOT, answer).metadatas
            found |= {EntryKey(one.room, one.id): one.stamp for one in page}
            offset += len(page)
            if len(page) < _PAGE:
                return found

    def drop(self, collection: str) -> None:
        self._ids.pop(collection, None)
        self._ask("DELETE", _named(collection), None)

    def alive(self) -> bool:
        try:
            return self._ask("GET", "/api/v2/heartbeat", None, _ALIVE_SECONDS) is not None
        except IndexAwayError:
            return False

    @cached_property
    def _client(self) -> httpx.Client:
        return http_client_for(self._url, _SECONDS)

    def _make(self, collection: str) -> None:
        if collection not in self._ids:
            asked = {"name": collection, "get_or_create": True, "configuration": {"hnsw": {"space": "cosine"}}}
            self._ids[collection] = self._read(_COLLECTION, self._ask("POST", _PATH, asked)).id

    def _of_collection(self, collection: str, act: str, asked: Any, within: float = _SECONDS) -> Any:
        """What the server answers; None when it has no such collection."""
        known = self._ids.get(collection)
        if known is None:
            answer = self._ask("GET", _named(collection), None, within)
            if answer is None:
                return None
            known = self._ids[collection] = self._read(_COLLECTION, answer).id
        answer = self._ask("GET" if asked is None else "POST", f"{_PATH}/{known}/{act}", asked, within)
        if answer is None:
            self._ids.pop(collection, None)
        return answer

    def _ask(self, method: str, path: str, asked: Any, within: float = _SECONDS) -> Any:
        """Its answer, None when what was asked for is not there."""
        try:
            answer = self._client.request(method, self._url + path, json=asked, timeout=within)
            said = answer.json() if answer.content else {}
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise IndexAwayError(f"the index at {self._url} does not answer: {type(error).__name__}") from None
        if answer.status_code == _MISSING:
            return None
        if not answer.is_success:
            what = IndexBrokenError if answer.status_code == _FAILED else IndexAwayError
            raise what(f"the index at {self._url} answered {answer.status_code}: {str(said)[:300]}")
        return said

    def _read(self, shape: TypeAdapter[T], answer: Any) -> T:
        try:
            return shape.validate_python(answer)
        except ValidationError as error:
            raise IndexBrokenError(f"the index at {self._url} answered what is no answer: {error}") from None


def _named(collection: str) -> str:
    return f"{_PATH}/{quote(collection, safe='')}"


def _key(room: str, entry_id: str) -> str:
    return f"{room}:{entry_id}"


def _numbers(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // _FLOAT_BYTES}f", vector))
