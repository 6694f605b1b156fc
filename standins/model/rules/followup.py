"""Rules for changes to existing works: new versions of the works that a message means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from standins.model.reply import ReplyCall
from standins.model.rules.ordering import TOOL_OF, pick
from standins.model.rules.planning import LONGEST_PROMPT, PlannedWork, picture_size, planned_works, says_a_shape
from standins.model.rules.shown_state import ShownState, ShownWork
from standins.model.rules.story import StoryRequest
from standins.model.rules.texts import revise_text
from standins.model.rules.vocabulary import NUMBERS, kinds_named, words
from standins.model.rules.wish import WorkWish, seconds_wanted

_REPLACE = re.compile(
    r"(?:replace|change|remplace)\s+[\"“«](.+?)[\"”»]\s+(?:with|by|to|par|en)\s+[\"“«](.+?)[\"”»]", re.IGNORECASE
)


def targets(request: StoryRequest, state: ShownState) -> list[ShownWork]:
    """Return the works that the request wants changed."""
    here = own_works(state)
    named = [kind for kind in kinds_named(request.text) if any(work.kind == kind for work in here)]
    kind = named[0] if named else main_kind(state)
    return pick([work for work in here if work.kind == kind], request.text)


def changing_calls(request: StoryRequest, state: ShownState) -> list[ReplyCall]:
    """Return a call for each work to change; a document is read before it is written."""
    calls = []
    for work in targets(request, state):
        calls.append(
            _document_call(work, request, state) if work.kind == "document" else _generation_call(work, request)
        )
    return calls


def added_works(request: StoryRequest, wish: WorkWish, state: ShownState) -> list[PlannedWork]:
    """Return new works that a request adds, numbered after the existing works of their kind."""
    kind = wish.kind or main_kind(state)
    whole_wish = WorkWish(
        text=f"{state.goal}\n{request.text}",
        kind=kind,
        count=wish.count if wish.kind else _how_many(request.text),
        seconds=wish.seconds,
        subject=wish.subject if wish.kind and wish.kind != main_kind(state) else _subject(state, wish),
        colours=wish.colours,
        names=wish.names,
        makes=True,
    )
    here = own_works(state)
    source = here[0].title.partition(" – ")[0] if here else ""
    return planned_works(whole_wish, state.language, start=1 + sum(work.kind == kind for work in here), source=source)


def is_of_another_kind(wanted: WorkWish, state: ShownState) -> bool:
    """Whether the task has works but none of the wanted kind: the wish then adds a work and changes none."""
    others = {work.kind for work in own_works(state)}
    return wanted.makes and wanted.kind is not None and bool(others) and wanted.kind not in others


def own_works(state: ShownState) -> list[ShownWork]:
    """Return what the task made: its orders' objects and documents, or everything linked to it when it made nothing."""
    made = {one for order in state.orders for one in order.object_ids}
    own = [work for work in state.objects if work.id in made or work.kind == "document"]
    return own or list(state.objects)


def main_kind(state: ShownState) -> str:
    """Return the kind this task is about: that of most of its orders, else of most of its objects."""
    counted = Counter(order.kind for order in state.orders) or Counter(work.kind for work in state.objects)
    return counted.most_common(1)[0][0] if counted else "image"


def _generation_call(work: ShownWork, request: StoryRequest) -> ReplyCall:
    arguments: dict[str, Any] = {
        "prompt": f"{work.title}: {request.text.strip()[:LONGEST_PROMPT]}",
        "title": work.title,
        "object_id": work.id,
    }
    if work.kind == "image" and says_a_shape(request.text):
        arguments["size"] = picture_size(request.text)
    if work.kind in {"video", "audio"}:
        arguments["seconds"] = seconds_wanted(request.text) or (10 if "long" in request.text.lower() else 5)
    return ReplyCall(TOOL_OF[work.kind], arguments)


def _document_call(work: ShownWork, request: StoryRequest, state: ShownState) -> ReplyCall:
    reads = [one for one in request.made if one.name == "read_object" and one.arguments.get("object_id") == work.id]
    read = next((one.result for one in reversed(reads) if not one.failed), None)
    if read is None:
        return ReplyCall("read_object", {"object_id": work.id})
    exact = _REPLACE.search(request.text)
    if exact:
        return ReplyCall(
            "edit_document", {"object_id": work.id, "edits": [{"find": exact[1], "replace": exact[2], "all": True}]}
        )
    content = revise_text(_content(read), request.text, state.language)
    return ReplyCall(
        "write_document",
        {"title": work.title, "content": content, "object_id": work.id, "base_version": _version(read, work)},
    )


def _version(read: object, work: ShownWork) -> int:
    facts = read.get("object") if isinstance(read, Mapping) else None
    return int(facts.get("version") or work.version) if isinstance(facts, Mapping) else work.version


def _content(result: object) -> str:
    if isinstance(result, Mapping):
        return str(result.get("content") or result.get("text") or "")
    return ""


def _how_many(text: str) -> int:
    return next((int(word) if word.isdigit() else NUMBERS[word] for word in words(text)
                 if (word.isdigit() and len(word) < 3) or NUMBERS.get(word, 1) > 1), 1)  # fmt: skip


def _subject(state: ShownState, wish: WorkWish) -> str:
    here = own_works(state)
    return here[0].title.partition(" – ")[0] if here else wish.subject
