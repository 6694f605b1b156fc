"""Tools that read the shared workspace, long texts by page."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.errors import InvalidError
from core.tools import CallContext, Effect, ToolResult
from workspace import collections, documents, objects
from workspace.assets import Assets
from workspace.folding import is_between_characters
from workspace.media_types import is_text
from workspace.objects import Object
from workspace.state import object_facts

# With quotes and line ends escaped a page still fits into the history as one result.
PAGE = 10_000


def page_of(text: str, page: int, size: int = PAGE) -> tuple[str, int]:
    """Return the page (from 1) and the number of pages; joined they are the text. Raises InvalidError past the last."""
    starts = [0]
    while len(text) - starts[-1] > size:
        starts.append(_find_page_end(text, starts[-1], size))
    if not 1 <= page <= len(starts):
        raise InvalidError(f"there is no page {page}; the last is {len(starts)}")
    end = starts[page] if page < len(starts) else len(text)
    return text[starts[page - 1] : end], len(starts)


def _find_page_end(text: str, start: int, size: int) -> int:
    """Find the end of a page: after a line end in the last quarter, or else where no character is split."""
    line_end = text.rfind("\n", start + size - size // 4, start + size)
    if line_end >= 0:
        return line_end + 1
    end = start + size
    while end > start + size // 2 and not is_between_characters(text, end):
        end -= 1
    return end


class ReadObjectArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    object_id: str = Field(max_length=64)
    version: int | None = Field(None, ge=1, le=10**9)
    page: int = Field(1, ge=1, le=10**6)


class ReadObject:
    """Read a document by page, list a collection, or describe another object; the task has then seen it."""

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
            work = objects.get_object(scope, arguments.object_id, arguments.version)
        content = self._content(call, work, arguments.page)
        if call.task_id is not None:
            with call.transaction() as scope:
                objects.mark_seen(scope, work.id, call.task_id, work.version)
        facts = {**object_facts(work), "current_version": work.current_version, "size": work.size}
        return ToolResult({"object": facts, **content})

    def _content(self, call: CallContext, work: Object, page: int) -> dict[str, Any]:
        if work.kind == "collection":
            items = collections.items_of(self._assets, work)
            with call.reading() as scope:
                found = objects.objects_by_ids(scope, [item.object_id for item in items])
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
            text, pages = page_of(documents.read_document(self._assets, work), page)
            return {"page": page, "pages": pages, "content": text}
        return {"made_with": dict(work.recipe)}


class ListObjectsArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["document", "image", "video", "audio", "model3d", "collection", "flow"] | None = None
    query: str | None = Field(None, max_length=200)
    cursor: str | None = Field(None, max_length=64)


class ListObjects:
    """List the workspace's objects, newest first."""

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
            page = objects.list_objects(scope, kind=arguments.kind, query=arguments.query, cursor=arguments.cursor)
        return ToolResult({"objects": [object_facts(work) for work in page.items], "next": page.next})
