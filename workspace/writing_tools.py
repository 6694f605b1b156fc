"""Tools that write in the shared workspace, on top of a version that the task has read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.errors import InvalidError
from core.tools import CallContext, Effect, ToolResult
from workspace import collections, documents, objects, structured
from workspace.assets import Assets
from workspace.edits import TextEdit
from workspace.state import object_facts

_ID = 64


def _author(call: CallContext) -> str:
    return f"task:{call.task_id}" if call.task_id else f"main:{call.person_id}"


class WriteDocumentArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    content: str
    object_id: str | None = Field(None, max_length=_ID)
    base_version: int | None = Field(None, ge=1, le=10**9)


class WriteDocument:
    """Make a Markdown document, or replace the whole text of the version that was read."""

    name = "write_document"
    domain = "document"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Write a Markdown document. Without `object_id` a new one; with it a whole new text on top of `base_version`, "
        "the version you read. Use edit_document for small changes."
    )
    arguments: type[BaseModel] = WriteDocumentArguments

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    def run(self, call: CallContext, arguments: WriteDocumentArguments) -> ToolResult:
        if arguments.object_id is None:
            work = documents.write_document(
                call,
                self._assets,
                title=arguments.title,
                content=arguments.content,
                created_by=_author(call),
                cause=call.call_id,
                task_id=call.task_id,
            )
            return ToolResult({"object": object_facts(work)})
        if arguments.base_version is None:
            raise InvalidError("name `base_version`, the version of the document that you read")
        work = documents.rewrite_document(
            call,
            self._assets,
            arguments.object_id,
            base_version=arguments.base_version,
            title=arguments.title,
            content=arguments.content,
            created_by=_author(call),
            cause=call.call_id,
            task_id=call.task_id,
        )
        changed = work.version != arguments.base_version
        return ToolResult({"object": object_facts(work), "base_version": arguments.base_version, "changed": changed})


class EditArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    find: str
    replace: str
    all: bool = False


class EditDocumentArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    object_id: str = Field(max_length=_ID)
    edits: list[EditArguments] = Field(min_length=1, max_length=documents.EDITS_LIMIT)


class EditDocument:
    """Change parts of a document by snippet, all or nothing, on its newest version."""

    name = "edit_document"
    domain = "document"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Change parts of a document you have read: each `find` must stand in the text exactly once, or say `all`. If "
        "one edit fails, nothing changes."
    )
    arguments: type[BaseModel] = EditDocumentArguments

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    def run(self, call: CallContext, arguments: EditDocumentArguments) -> ToolResult:
        edited = documents.edit_document(
            call,
            self._assets,
            arguments.object_id,
            [TextEdit(part.find, part.replace, part.all) for part in arguments.edits],
            created_by=_author(call),
            cause=call.call_id,
            task_id=call.task_id,
        )
        if not edited.counts:
            return ToolResult({"object": object_facts(edited.object), "changed": False, "notes": list(edited.notes)})
        told = {
            "object": object_facts(edited.object),
            "base_version": edited.object.version - 1,
            "changed": True,
            "places_changed": list(edited.counts),
        }
        if edited.alike:
            told["matched_but_for_quotes_or_blanks"] = list(edited.alike)
        if edited.moved_from is not None:
            told["note"] = f"somebody changed it since you read version {edited.moved_from}; read it before you rewrite"
        return ToolResult(told)


class CollectArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    object_ids: list[str] = Field(min_length=1, max_length=structured.ITEMS_LIMIT)


class Collect:
    """Make a collection of objects."""

    name = "collect"
    domain = "document"
    effect = Effect.WRITE
    repeatable = True
    description = "Make a collection of objects, such as a set or a moodboard, in the order given."
    arguments: type[BaseModel] = CollectArguments

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    def run(self, call: CallContext, arguments: CollectArguments) -> ToolResult:
        work = collections.store_collection(
            call,
            self._assets,
            title=arguments.title,
            object_ids=arguments.object_ids,
            created_by=_author(call),
            cause=call.call_id,
            task_id=call.task_id,
        )
        return ToolResult({"object": object_facts(work)})


class RestoreVersionArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    object_id: str = Field(max_length=_ID)
    version: int = Field(ge=1, le=10**9)


class RestoreVersion:
    """Put an earlier version of an object on top again."""

    name = "restore_version"
    domain = "document"
    effect = Effect.WRITE
    repeatable = True
    description = "Make an earlier version of an object its newest again; the versions between are kept."
    arguments: type[BaseModel] = RestoreVersionArguments

    def run(self, call: CallContext, arguments: RestoreVersionArguments) -> ToolResult:
        with call.transaction() as scope:
            work = objects.object_made_by(scope, call.call_id)
            if work is None:
                base = objects.check_current(scope, arguments.object_id, call.task_id)
                work = objects.restore_version(
                    scope,
                    arguments.object_id,
                    version=arguments.version,
                    base_version=base.version,
                    created_by=_author(call),
                    cause=call.call_id,
                    task_id=call.task_id,
                )
        return ToolResult({"object": object_facts(work), "restored_from": arguments.version})
