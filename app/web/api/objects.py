"""The shared workspace: works and their versions."""

from __future__ import annotations

import re
from typing import Any, Literal

from flask import Response, request
from pydantic import Field

from app.web import paging
from app.web.bodies import UPLOAD_LIMIT, Body, json_body
from app.web.content import content
from app.web.endpoints import Answer, Door
from app.web.parts import WebParts
from app.web.presenters.object import object_by_id, object_shape, version_shape
from app.web.problems import PreconditionMissingError, UnreadableError
from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.identity import Speaker
from workspace import objects
from workspace.assets import Asset
from workspace.media_types import kind_of

_IF_MATCH = re.compile(r'(?:W/)?"?(\d{1,9})"?')


class NewDocument(Body):
    """A work that is text; pictures, films and sounds come as multipart with a part named `file`."""

    kind: Literal["document", "collection", "flow"] = "document"
    title: str = Field(min_length=1)
    content: str


class NewContent(Body):
    content: str
    title: str | None = Field(default=None, min_length=1)


class Stored(Body):
    """A work whose bytes are stored already."""

    kind: str
    title: str
    media_type: str
    size: int
    sha256: str


def objects_api(parts: WebParts) -> Door:
    door = Door(parts, "objects_api")

    def store_upload() -> Body:
        if request.mimetype == "multipart/form-data":
            return _upload(parts)
        sent = json_body(NewDocument)
        return _stored(sent.kind, sent.title, parts.assets.put(sent.content.encode(), declared="text/markdown"))

    @door.reads("/api/v1/objects", "Works, newest first; `q=` words of the title, `kind=`, `task_id=`")
    def list_objects(scope: Scope, speaker: Speaker) -> Answer:
        found = objects.listing(
            scope,
            kind=_kind(),
            query=request.args.get("q"),
            task_id=request.args.get("task_id"),
            cursor=request.args.get("cursor"),
            limit=paging.page_size(),
        )
        return {"items": [object_shape(work) for work in found.items], "next": found.next}

    @door.acts(
        "/api/v1/objects",
        "Make a work: JSON for text, multipart with a `file` for anything",
        body=NewDocument,
        read=store_upload,
        status=201,
        limit=UPLOAD_LIMIT,
    )
    def post_object(scope: Scope, speaker: Speaker, body: Stored) -> dict[str, Any]:
        made = objects.create(
            scope,
            **body.model_dump(),
            created_by=f"person:{speaker.person_id}",
            cause=f"api:{scope.ids.new('cause')}",
        )
        return object_shape(made)

    @door.reads("/api/v1/objects/<object_id>", "A work; `version=` for an earlier one")
    def get_object(scope: Scope, speaker: Speaker, object_id: str) -> Answer:
        return object_by_id(scope, object_id, _version())

    @door.reads("/api/v1/objects/<object_id>/history", "Its versions, newest first")
    def get_history(scope: Scope, speaker: Speaker, object_id: str) -> Answer:
        return {"items": [version_shape(one) for one in objects.history(scope, object_id)], "next": None}

    def get_content(speaker: Speaker, object_id: str) -> Response:
        with parts.database.reading(speaker.workspace_id) as scope:
            work = objects.get(scope, object_id, _version())
        lasting = "version" in request.args
        return content(parts.assets, work.sha256, work.size, work.media_type, work.title, lasting=lasting)

    door.serves("GET", "/api/v1/objects/<object_id>/content", "Its bytes; takes Range", scope="read")(
        get_content, "get_content"
    )

    def store_content(speaker: Speaker, body: NewContent, object_id: str) -> tuple[NewContent, Asset]:
        _if_match()
        return body, parts.assets.put(body.content.encode(), declared="text/markdown")

    @door.acts(
        "/api/v1/objects/<object_id>",
        "A new version of a text on top of the one in `If-Match`",
        body=NewContent,
        prepare=store_content,
        method="PUT",
    )
    def put_object(scope: Scope, speaker: Speaker, body: tuple[NewContent, Asset], object_id: str) -> dict[str, Any]:
        sent, asset = body
        return _write(scope, speaker, object_id, _if_match(), asset, sent.title)

    return door


def _write(
    scope: Scope, speaker: Speaker, object_id: str, base: int, asset: Asset, title: str | None
) -> dict[str, Any]:
    current = objects.get(scope, object_id)
    if kind_of(current.media_type) != "document":
        raise InvalidError(f"{current.title!r} is no text: a {current.kind} gets its versions from a generation")
    try:
        written = objects.add_version(
            scope,
            object_id,
            base_version=base,
            title=title,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=f"person:{speaker.person_id}",
            cause=f"api:{scope.ids.new('cause')}",
        )
    except ConflictError as error:
        since = [version_shape(one) for one in objects.history(scope, object_id) if one.version > base]
        raise ConflictError(str(error), **{**error.facts(), "conflicts": since}) from None
    return object_shape(written)


def _upload(parts: WebParts) -> Stored:
    file = request.files.get("file")
    if file is None:
        raise UnreadableError("send the bytes as a multipart part named `file`")
    asset = parts.assets.put(file.stream, declared=file.mimetype)
    if asset.size == 0:
        raise InvalidError("the file is empty")
    title = request.form.get("title") or file.filename or "Untitled"
    return _stored(kind_of(asset.media_type), title, asset)


def _stored(kind: str, title: str, asset: Asset) -> Stored:
    return Stored(kind=kind, title=title, media_type=asset.media_type, size=asset.size, sha256=asset.sha256)


def _kind() -> str | None:
    kind = request.args.get("kind")
    if kind is not None and kind not in objects.KINDS:
        raise InvalidError(f"kind is one of {', '.join(objects.KINDS)}, not {kind!r}")
    return kind


def _version() -> int | None:
    raw = request.args.get("version")
    if raw is None:
        return None
    if not (raw.isascii() and raw.isdigit() and int(raw[:9]) > 0 and len(raw) < 10):
        raise InvalidError(f"version is a number such as 1, not {raw[:40]!r}")
    return int(raw)


def _if_match() -> int:
    raw = request.headers.get("If-Match")
    if raw is None:
        raise PreconditionMissingError("say in `If-Match` which version you changed, as in If-Match: 3")
    match = _IF_MATCH.fullmatch(raw.strip())
    if match is None:
        raise InvalidError(f"If-Match is a version number such as 3, not {raw[:40]!r}")
    return int(match[1])
