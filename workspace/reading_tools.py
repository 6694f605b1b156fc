"""Tools that look at the shared workspace."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.tools import CallContext, Effect, ToolResult
from workspace import collections, documents, objects
from workspace.assets import Assets
from workspace.media_types import is_text
from workspace.objects import Object
from workspace.pages import page_of
from workspace.state import shown


class ReadObjectArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    object_id: str = Field(max_length=64)
    version: int | None = Field(None, ge=1, le=10**9)
    page: int = Field(1, ge=1, le=10**6)


class ReadObject:
    """Reads a document by pages, lists a collection, describes anything else; the task has seen it then."""

    name = "read_object"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "Read an object of the shared workspace: a document's text by pages, what a collection holds, or the facts of "
        "a picture, film, sound or model. Without `version` the newest. Read before you write."
    )
    arguments: type[BaseModel] = ReadObjectArguments

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    def run(self, call: CallContext, arguments: ReadObjectArguments) -> ToolResult:
        with call.reading() as scope:
            work = objects.get(scope, arguments.object_id, arguments.version)
        content = self._content(call, work, arguments.page)
        if call.task_id is not None:
            with call.transaction() as scope:
                objects.seen(scope, work.id, call.task_id, work.version)
        facts = {**shown(work), "current_version": work.current_version, "size": work.size}
        return ToolResult({"object": facts, **content})

    def _content(self, call: CallContext, work: Object, page: int) -> dict[str, Any]:
        if work.kind == "collection":
            items = collections.items_of(self._assets, work)
            with call.reading() as scope:
                found = objects.by_ids(scope, [item.object_id for item in items])
            return {
                "items": [
                    {
                        "object_id": item.object_id,
                        "version": item.version,
                        "title": found[item.object_id].title if item.object_id in found else None,
                        "deleted": item.object_id not in found,
                    }
                    for item in items
                ]
            }
        if work.kind == "document" and is_text(work.media_type):
            text, pages = page_of(documents.read(self._assets, work), page)
            return {"page": page, "pages": pages, "content": text}
        return {"made_with": dict(work.recipe)}


class ListObjectsArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["document", "image", "video", "audio", "model3d", "collection", "flow"] | None = None
    query: str | None = Field(None, max_length=200)
    cursor: str | None = Field(None, max_length=64)


class ListObjects:
    """Lists the workspace's objects, newest first."""

    name = "list_objects"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "List objects of the shared workspace, newest first. `query` is words of the title; `cursor` is `next` of the "
        "list before."
    )
    arguments: type[BaseModel] = ListObjectsArguments

    def run(self, call: CallContext, arguments: ListObjectsArguments) -> ToolResult:
        with call.reading() as scope:
            page = objects.listing(scope, kind=arguments.kind, query=arguments.query, cursor=arguments.cursor)
        return ToolResult({"objects": [shown(work) for work in page.items], "next": page.next})
