"""The shared workspace: works and their versions."""

from __future__ import annotations

from typing import Literal

from flask import Response, request
from pydantic import Field

from app.web.http import paging
from app.web.http.content import content_response
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import UPLOAD_LIMIT, Body, read_json_body, requested_version, required_base_version
from app.web.http.problems import UnreadableError
from app.web.presenters.object import ObjectShape, ObjectVersion, object_by_id, object_shape, object_version_shape
from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.identity import Speaker
from workspace import documents, objects, structured
from workspace.access import WorkspaceAccess
from workspace.assets import Asset
from workspace.documents import PreparedEdit
from workspace.edits import TextEdit
from workspace.media_types import is_text, kind_of


class NewDocument(Body):
    """A work of text. Pictures, films and sounds are sent as multipart with a part named `file`."""

    kind: Literal["document", "collection", "flow"] = "document"
    title: str = Field(min_length=1)
    content: str


class NewContent(Body):
    content: str
    title: str | None = Field(default=None, min_length=1)


class OneEdit(Body):
    """Replace `find` by `replace`: its only occurrence, or with `all` every one."""

    find: str
    replace: str
    all: bool = False


class Edits(Body):
    edits: list[OneEdit] = Field(min_length=1)


class Stored(Body):
    """A new work whose bytes are already stored."""

    kind: str
    title: str
    media_type: str
    size: int
    sha256: str


class EditedShape(ObjectShape):
    """`counts`: replacements of each edit; `alike`: the edits that matched except for quotes and blanks."""

    counts: list[int]
    alike: list[int]
    notes: list[str]


_VERSION = {"version": "the number of an earlier version; the current one without it"}


def objects_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "objects_api")
    _register_reads(endpoints)
    _register_creation(endpoints)
    _register_changes(endpoints)
    return endpoints


def _register_reads(endpoints: Endpoints) -> None:
    dependencies = endpoints.dependencies

    @endpoints.reads(
        "/api/v1/objects",
        "Works, newest first; `q=` words of the title, `kind=`, `task_id=`",
        query={
            "q": "words of the title",
            "kind": f"one of {', '.join(objects.KINDS)}",
            "task_id": "only those of a task",
            **paging.PAGING_QUERY,
        },
    )
    def list_objects(scope: Scope, speaker: Speaker) -> paging.ListPage[ObjectShape]:
        found = objects.list_objects(
            scope,
            kind=_requested_kind(),
            query=request.args.get("q"),
            task_id=request.args.get("task_id"),
            cursor=request.args.get("cursor"),
            limit=paging.page_size(),
        )
        return {"items": [object_shape(work) for work in found.items], "next": found.next}

    @endpoints.reads("/api/v1/objects/<object_id>", "A work; `version=` for an earlier one", query=_VERSION)
    def get_object(scope: Scope, speaker: Speaker, object_id: str) -> ObjectShape:
        return object_by_id(scope, object_id, requested_version())

    @endpoints.reads("/api/v1/objects/<object_id>/history", "Its versions, newest first")
    def get_history(scope: Scope, speaker: Speaker, object_id: str) -> paging.ListPage[ObjectVersion]:
        return {"items": [object_version_shape(one) for one in objects.list_versions(scope, object_id)], "next": None}

    def get_content(speaker: Speaker, object_id: str) -> Response:
        with dependencies.database.reading(speaker.workspace_id) as scope:
            work = objects.get_object(scope, object_id, requested_version())
        lasting = "version" in request.args
        return content_response(
            dependencies.assets, work.sha256, work.size, work.media_type, work.title, lasting=lasting
        )

    path = "/api/v1/objects/<object_id>/content"
    endpoints.serves("GET", path, "Its bytes; takes Range", scope="read", query=_VERSION, media="*/*")(
        get_content, "get_content"
    )


def _register_creation(endpoints: Endpoints) -> None:
    dependencies = endpoints.dependencies

    def store_upload() -> Body:
        if request.mimetype == "multipart/form-data":
            return _store_upload(dependencies)
        sent = read_json_body(NewDocument)
        structured.check_structured(sent.kind, sent.content)
        kept_as = structured.JSON if structured.is_structured(sent.kind) else documents.MARKDOWN
        return _stored(sent.kind, sent.title, documents.store_text(dependencies.assets, sent.content, kept_as))

    @endpoints.acts(
        "/api/v1/objects",
        "Make a work: JSON for text, multipart with a `file` for anything",
        body=NewDocument,
        read=store_upload,
        status=201,
        limit=UPLOAD_LIMIT,
        takes_file=True,
    )
    def post_object(scope: Scope, speaker: Speaker, body: Stored) -> ObjectShape:
        made = objects.create_object(scope, **body.model_dump(), created_by=_creator_of(speaker), cause=_cause(scope))
        return object_shape(made)


def _register_changes(endpoints: Endpoints) -> None:
    dependencies = endpoints.dependencies

    def store_content(speaker: Speaker, body: NewContent, object_id: str) -> tuple[NewContent, Asset]:
        required_base_version()
        return body, documents.store_text(dependencies.assets, body.content)

    @endpoints.acts(
        "/api/v1/objects/<object_id>",
        "A new version of a text on top of the one in `If-Match`",
        body=NewContent,
        prepare=store_content,
        method="PUT",
        limit=UPLOAD_LIMIT,
    )
    def put_object(scope: Scope, speaker: Speaker, body: tuple[NewContent, Asset], object_id: str) -> ObjectShape:
        sent, asset = body
        structured.check_structured(objects.get_object(scope, object_id).kind, sent.content)
        return _write_version(scope, speaker, object_id, required_base_version(), asset, sent.title)

    def prepare_edits(speaker: Speaker, body: Edits, object_id: str) -> PreparedEdit:
        access = WorkspaceAccess(dependencies.database, speaker.workspace_id)
        edits = [TextEdit(one.find, one.replace, one.all) for one in body.edits]
        return documents.prepare_edit(access, dependencies.assets, object_id, edits)

    @endpoints.acts(
        "/api/v1/objects/<object_id>/edits",
        "Change snippets of a text, all or nothing",
        body=Edits,
        prepare=prepare_edits,
    )
    def post_edits(scope: Scope, speaker: Speaker, body: PreparedEdit, object_id: str) -> EditedShape:
        edited = documents.put_edit(scope, body, created_by=_creator_of(speaker), cause=_cause(scope))
        return {
            **object_shape(edited.object),
            "counts": list(edited.counts),
            "alike": list(edited.alike),
            "notes": list(edited.notes),
        }


def _write_version(
    scope: Scope, speaker: Speaker, object_id: str, base: int, asset: Asset, title: str | None
) -> ObjectShape:
    current = objects.get_object(scope, object_id)
    if not is_text(current.media_type):
        raise InvalidError(f"{current.title!r} is no text: a {current.kind} gets its versions from a generation")
    try:
        written = objects.add_version(
            scope,
            object_id,
            base_version=base,
            title=title,
            media_type=current.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=_creator_of(speaker),
            cause=_cause(scope),
        )
    except ConflictError as error:
        since = [object_version_shape(one) for one in objects.list_versions(scope, object_id) if one.version > base]
        raise ConflictError(str(error), **{**error.facts(), "conflicts": since}) from None
    return object_shape(written)


def _store_upload(dependencies: WebDependencies) -> Stored:
    file = request.files.get("file")
    if file is None:
        raise UnreadableError("send the bytes as a multipart part named `file`")
    asset = dependencies.assets.put(file.stream, declared=file.mimetype)
    if asset.size == 0:
        raise InvalidError("the file is empty")
    title = request.form.get("title") or file.filename or "Untitled"
    return _stored(kind_of(asset.media_type), title, asset)


def _stored(kind: str, title: str, asset: Asset) -> Stored:
    return Stored(kind=kind, title=title, media_type=asset.media_type, size=asset.size, sha256=asset.sha256)


def _creator_of(speaker: Speaker) -> str:
    return f"{speaker.speaks_as}:{speaker.person_id}"


def _cause(scope: Scope) -> str:
    # Repeated requests are recognised by their Idempotency-Key, not by the cause.
    return f"api:{scope.ids.new('cause')}"


def _requested_kind() -> str | None:
    kind = request.args.get("kind")
    if kind is not None and kind not in objects.KINDS:
        raise InvalidError(f"kind is one of {', '.join(objects.KINDS)}, not {kind!r}")
    return kind
