"""Documents: Markdown text stored as objects. The bytes are stored before the row that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import assert_never

from core.database import Scope
from core.errors import ConflictError, InvalidError
from workspace import objects, structured
from workspace.access import Access
from workspace.assets import Asset, Assets
from workspace.edits import TEXT_LIMIT, AppliedEdits, RefusedEdits, TextEdit, UnchangedText, apply_edits
from workspace.media_types import is_text
from workspace.objects import Object

MARKDOWN = "text/markdown"
EDITS_LIMIT = 50
_TRIES = 5


@dataclass(frozen=True)
class EditedDocument:
    """A document after an edit. `counts` says how many places each edit changed; empty when nothing changed.

    `alike` names the edits (from 1) that matched except for quotes and blanks, and `notes` say why nothing changed.
    `moved_from` is the version that the caller knew, when the edits were made on a newer one.
    """

    object: Object
    counts: tuple[int, ...] = ()
    alike: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    moved_from: int | None = None


def write_document(
    access: Access,
    assets: Assets,
    *,
    title: str,
    content: str,
    created_by: str,
    cause: str,
    task_id: str | None = None,
) -> Object:
    """Make a document, once for its `cause`; raises InvalidError."""
    asset = store_text(assets, content)
    with access.transaction() as scope:
        return objects.create_object(
            scope,
            kind="document",
            title=title,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=created_by,
            cause=cause,
            task_id=task_id,
        )


def rewrite_document(
    access: Access,
    assets: Assets,
    object_id: str,
    *,
    base_version: int,
    content: str,
    created_by: str,
    cause: str,
    title: str | None = None,
    task_id: str | None = None,
) -> Object:
    """Replace the whole text of `base_version`, once for its `cause`; a task must have read that version.

    The same text and title again make no version. Raises ConflictError with `current_version` when the document has
    changed, InvalidError when it is no text.
    """
    with access.reading() as scope:
        if before := objects.object_made_by(scope, cause):
            return before
        work = _text_object(objects.get_object(scope, object_id))
    structured.check_structured(work.kind, content)
    asset = store_text(assets, content, work.media_type)
    with access.transaction() as scope:
        if before := objects.object_made_by(scope, cause):
            return before
        if task_id is not None:
            _check_read(scope, object_id, task_id, base_version)
        current = objects.get_object(scope, object_id)
        if (current.version, current.sha256) == (base_version, asset.sha256) and title in (None, current.title):
            return current
        return objects.add_version(
            scope,
            object_id,
            base_version=base_version,
            title=title,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=created_by,
            cause=cause,
            task_id=task_id,
        )


@dataclass(frozen=True)
class PreparedEdit:
    """An edit whose new text is stored as bytes and whose row is not written yet; no `asset` when nothing changes."""

    base: Object
    outcome: AppliedEdits | UnchangedText
    asset: Asset | None


def prepare_edit(access: Access, assets: Assets, object_id: str, edits: Sequence[TextEdit]) -> PreparedEdit:
    """Make the edits on the newest text, all or nothing, outside of any transaction because this is slow.

    Raises ConflictError with `current_version` and `conflicts` when an edit cannot be made.
    """
    if not 1 <= len(edits) <= EDITS_LIMIT:
        raise InvalidError(f"an edit has 1 to {EDITS_LIMIT} parts, not {len(edits)}")
    with access.reading() as scope:
        base = _text_object(objects.get_object(scope, object_id))
    outcome = apply_edits(read_document(assets, base), edits)
    match outcome:
        case RefusedEdits():
            raise _refusal(base, outcome)
        case UnchangedText():
            return PreparedEdit(base, outcome, None)
        case AppliedEdits():
            structured.check_structured(base.kind, outcome.text)
            return PreparedEdit(base, outcome, store_text(assets, outcome.text, base.media_type))
        case _:
            assert_never(outcome)


def put_edit(
    scope: Scope, prepared: PreparedEdit, *, created_by: str, cause: str, task_id: str | None = None
) -> EditedDocument:
    """Write the row of a prepared edit, once for its `cause`.

    Raises ConflictError with `current_version` when the document has changed since it was prepared.
    """
    base = prepared.base
    if prepared.asset is None:
        return EditedDocument(base, notes=prepared.outcome.notes if isinstance(prepared.outcome, UnchangedText) else ())
    known = base.version if task_id is None else objects.seen_version(scope, base.id, task_id)
    work = objects.add_version(
        scope,
        base.id,
        base_version=base.version,
        media_type=prepared.asset.media_type,
        size=prepared.asset.size,
        sha256=prepared.asset.sha256,
        created_by=created_by,
        cause=cause,
        task_id=task_id,
    )
    moved_from = known if known < base.version else None
    assert isinstance(prepared.outcome, AppliedEdits)
    return EditedDocument(work, prepared.outcome.counts, prepared.outcome.alike, moved_from=moved_from)


def edit_document(
    access: Access,
    assets: Assets,
    object_id: str,
    edits: Sequence[TextEdit],
    *,
    created_by: str,
    cause: str,
    task_id: str | None = None,
) -> EditedDocument:
    """Edit the newest text by snippet, all or nothing, once for its `cause`.

    When a version arrives meanwhile, that one is edited instead. A task must have read the document, in any version.
    Raises ConflictError as `prepare_edit` does, and when new versions keep arriving.
    """
    tries = 0
    while True:
        with access.reading() as scope:
            made = objects.object_made_by(scope, cause)
            if made is None and task_id is not None:
                # 1 is the oldest version, so it is enough to have read any.
                _check_read(scope, object_id, task_id, 1)
        if made is not None:
            return EditedDocument(made, notes=("this edit was made before",))
        prepared = prepare_edit(access, assets, object_id, edits)
        tries += 1
        try:
            with access.transaction() as scope:
                return put_edit(scope, prepared, created_by=created_by, cause=cause, task_id=task_id)
        except ConflictError:
            if tries == _TRIES:
                raise


def read_document(assets: Assets, work: Object) -> str:
    """Return the text of a version; raises InvalidError when it is no text, or too long."""
    _text_object(work)
    # A character is at most four bytes.
    if work.size > 4 * TEXT_LIMIT:
        raise InvalidError(f"{work.title!r} has {work.size} bytes, too many to be handled as text")
    return assets.read(work.sha256).decode("utf-8")


def store_text(assets: Assets, content: str, media_type: str = MARKDOWN) -> Asset:
    """Store the bytes of a text; raises InvalidError when it is no text or has over a million characters."""
    if len(content) > TEXT_LIMIT:
        raise InvalidError(f"the text has {len(content)} characters; {TEXT_LIMIT} is the most")
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidError(f"the text has half a character at position {error.start}") from None
    if b"\0" in data:
        raise InvalidError("the text holds a zero character; it is no text")
    kept = assets.put(data)
    return Asset(kept.sha256, kept.size, media_type)


def _text_object(work: Object) -> Object:
    if work.kind != "document" or not is_text(work.media_type):
        raise InvalidError(f"{work.title!r} is {work.media_type}, not text; it cannot be read or edited as such")
    return work


def _check_read(scope: Scope, object_id: str, task_id: str, version: int) -> None:
    """Raise ConflictError unless the task has seen this version or a newer one."""
    if objects.seen_version(scope, object_id, task_id) < version:
        current = objects.get_object(scope, object_id)
        raise ConflictError(
            f"this task has not read {current.title!r} in version {max(version, 1)}; it is at version "
            f"{current.version}: read {object_id} first",
            current_version=current.version,
        )


def _refusal(base: Object, refused: RefusedEdits) -> ConflictError:
    why = "; ".join(problem.message for problem in refused.problems)
    return ConflictError(
        f"nothing changed in {base.title!r}: {why}",
        current_version=base.version,
        conflicts=[asdict(problem) for problem in refused.problems],
    )
