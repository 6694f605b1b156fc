"""Vector index on a Chroma server, over its HTTP API.

Chroma's own client is not used: it costs every process that searches 76 MB and most of a second, and it reports usage.
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


class _GetAnswer(BaseModel):
    metadatas: list[_Metadata]


class _QueryAnswer(BaseModel):
    metadatas: list[list[_Metadata]]


_COLLECTION, _COUNT = TypeAdapter(_Collection), TypeAdapter(int)
_GET_ANSWER, _QUERY_ANSWER = TypeAdapter(_GetAnswer), TypeAdapter(_QueryAnswer)


class ChromaIndex:
    """An index on the server at `url`; it connects at its first use, and threads may share it."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        # The server gives each collection an id, and a new id when it is created again.
        self._ids: dict[str, str] = {}

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        conditions = [
            {"workspace": {"$eq": where.workspace_id}},
            {"room": {"$eq": where.room}},
            {"scope": {"$in": list(where.scopes)}},
        ]
        request = {
            "query_embeddings": [_numbers(vector)],
            "n_results": count,
            "where": {"$and": conditions},
            "include": ["metadatas"],
        }
        answer = self._ask_collection(collection, "query", request, within)
        if answer is None:
            raise IndexLostError(f"the index at {self._url} has no {collection}")
        return [one.id for one in self._read(_QUERY_ANSWER, answer).metadatas[0]]

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        if not items:
            return
        request = {
            "ids": [_key(item.room, item.id) for item in items],
            "embeddings": [_numbers(item.vector) for item in items],
            "metadatas": [
                {"workspace": workspace_id, "room": item.room, "scope": item.scope, "id": item.id, "stamp": item.stamp}
                for item in items
            ],
        }
        self._ensure(collection)
        if self._ask_collection(collection, "upsert", request) is None:
            # The collection was lost since it was last used.
            self._ensure(collection)
            if self._ask_collection(collection, "upsert", request) is None:
                raise IndexAwayError(f"the index at {self._url} lost {collection} while it was written")

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        if keys:
            self._ask_collection(collection, "delete", {"ids": [_key(key.room, key.id) for key in keys]})

    def count(self, collection: str) -> int:
        answer = self._ask_collection(collection, "count", None)
        return 0 if answer is None else self._read(_COUNT, answer)

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        if not keys:
            return set()
        request = {"ids": [_key(key.room, key.id) for key in keys], "include": ["metadatas"]}
        answer = self._ask_collection(collection, "get", request)
        found = [] if answer is None else self._read(_GET_ANSWER, answer).metadatas
        return {EntryKey(one.room, one.id) for one in found}

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        found: dict[EntryKey, str] = {}
        offset = 0
        while True:
            request = {"limit": _PAGE, "offset": offset, "include": ["metadatas"]}
            answer = self._ask_collection(collection, "get", request)
            page = [] if answer is None else self._read(_GET_ANSWER, answer).metadatas
            found |= {EntryKey(one.room, one.id): one.stamp for one in page}
            offset += len(page)
            if len(page) < _PAGE:
                return found

    def drop(self, collection: str) -> None:
        self._ids.pop(collection, None)
        self._ask("DELETE", _collection_path(collection), None)

    def alive(self) -> bool:
        try:
            return self._ask("GET", "/api/v2/heartbeat", None, _ALIVE_SECONDS) is not None
        except IndexAwayError:
            return False

    @cached_property
    def _client(self) -> httpx.Client:
        return http_client_for(self._url, _SECONDS)

    def _ensure(self, collection: str) -> None:
        if collection not in self._ids:
            request = {"name": collection, "get_or_create": True, "configuration": {"hnsw": {"space": "cosine"}}}
            self._ids[collection] = self._read(_COLLECTION, self._ask("POST", _PATH, request)).id

    def _ask_collection(self, collection: str, act: str, request: Any, within: float = _SECONDS) -> Any:
        """Send a request about a collection and return the answer; None when there is no such collection."""
        collection_id = self._ids.get(collection)
        if collection_id is None:
            answer = self._ask("GET", _collection_path(collection), None, within)
            if answer is None:
                return None
            collection_id = self._ids[collection] = self._read(_COLLECTION, answer).id
        answer = self._ask("GET" if request is None else "POST", f"{_PATH}/{collection_id}/{act}", request, within)
        if answer is None:
            self._ids.pop(collection, None)
        return answer

    def _ask(self, method: str, path: str, request: Any, within: float = _SECONDS) -> Any:
        """Send a request and return the answer; None for 404."""
        try:
            answer = self._client.request(method, self._url + path, json=request, timeout=within)
            content = answer.json() if answer.content else {}
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise IndexAwayError(f"the index at {self._url} does not answer: {type(error).__name__}") from None
        if answer.status_code == _MISSING:
            return None
        if not answer.is_success:
            error_class = IndexBrokenError if answer.status_code == _FAILED else IndexAwayError
            raise error_class(f"the index at {self._url} answered {answer.status_code}: {str(content)[:300]}")
        return content

    def _read(self, shape: TypeAdapter[T], answer: Any) -> T:
        try:
            return shape.validate_python(answer)
        except ValidationError as error:
            raise IndexBrokenError(f"the index at {self._url} gave an answer of the wrong shape: {error}") from None


def _collection_path(collection: str) -> str:
    return f"{_PATH}/{quote(collection, safe='')}"


def _key(room: str, entry_id: str) -> str:
    return f"{room}:{entry_id}"


def _numbers(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // _FLOAT_BYTES}f", vector))
