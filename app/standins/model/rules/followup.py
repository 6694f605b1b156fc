"""Changes to what is there: new versions of the works that a message means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from app.standins.model.reply import Call
from app.standins.model.rules.ordering import TOOL_OF, pick
from app.standins.model.rules.planning import LONGEST_PROMPT, Planned, picture_size, planned_works, says_a_shape
from app.standins.model.rules.shown import State, Work
from app.standins.model.rules.story import Request
from app.standins.model.rules.texts import revised
from app.standins.model.rules.vocabulary import NUMBERS, kinds_named, words
from app.standins.model.rules.wish import Wish, seconds_wanted

_REPLACE = re.compile(
    r"(?:replace|change|remplace)\s+[\"“«](.+?)[\"”»]\s+(?:with|by|to|par|en)\s+[\"“«](.+?)[\"”»]", re.IGNORECASE
)


def targets(request: Request, state: State) -> list[Work]:
    """The works to change."""
    here = own_works(state)
    named = [kind for kind in kinds_named(request.text) if any(work.kind == kind for work in here)]
    kind = named[0] if named else main_kind(state)
    return pick([work for work in here if work.kind == kind], request.text)


def changing_calls(request: Request, state: State) -> list[Call]:
    """A call for each work to change; a document is read before it is written."""
    calls = []
    for work in targets(request, state):
        calls.append(
            _document_call(work, request, state) if work.kind == "document" else _generation_call(work, request)
        )
    return calls


def added_works(request: Request, wish: Wish, state: State) -> list[Planned]:
    """Works beside those that are there, numbered on."""
    kind = wish.kind or main_kind(state)
    first = Wish(
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
    return planned_works(first, state.language, start=1 + sum(work.kind == kind for work in here), source=source)


def is_of_another_kind(wanted: Wish, state: State) -> bool:
    """A film or a text is wished for in a task that has pictures: something beside them, no change of them."""
    others = {work.kind for work in own_works(state)}
    return wanted.makes and wanted.kind is not None and bool(others) and wanted.kind not in others


def own_works(state: State) -> list[Work]:
    """What the task made: its orders' objects and documents, or everything linked to it when it made nothing."""
    made = {one for order in state.orders for one in order.object_ids}
    own = [work for work in state.objects if work.id in made or work.kind == "document"]
    return own or list(state.objects)


def main_kind(state: State) -> str:
    """The kind this task is about: that of most of its orders, else of most of its objects."""
    counted = Counter(order.kind for order in state.orders) or Counter(work.kind for work in state.objects)
    return counted.most_common(1)[0][0] if counted else "image"


def _generation_call(work: Work, request: Request) -> Call:
    arguments: dict[str, Any] = {
        "prompt": f"{work.title}: {request.text.strip()[:LONGEST_PROMPT]}",
        "title": work.title,
        "object_id": work.id,
    }
    if work.kind == "image" and says_a_shape(request.text):
        arguments["size"] = picture_size(request.text)
    if work.kind in {"video", "audio"}:
        arguments["seconds"] = seconds_wanted(request.text) or (10 if "long" in request.text.lower() else 5)
    return Call(TOOL_OF[work.kind], arguments)


def _document_call(work: Work, request: Request, state: State) -> Call:
    reads = [one for one in request.made if one.name == "read_object" and one.arguments.get("object_id") == work.id]
    read = next((one.result for one in reversed(reads) if not one.failed), None)
    if read is None:
        return Call("read_object", {"object_id": work.id})
    exact = _REPLACE.search(request.text)
    if exact:
        return Call(
            "edit_document", {"object_id": work.id, "edits": [{"find": exact[1], "replace": exact[2], "all": True}]}
        )
    content = revised(_content(read), request.text, state.language)
    return Call(
        "write_document",
        {"title": work.title, "content": content, "object_id": work.id, "base_version": _version(read, work)},
    )


def _version(read: object, work: Work) -> int:
    facts = read.get("object") if isinstance(read, Mapping) else None
    return int(facts.get("version") or work.version) if isinstance(facts, Mapping) else work.version


def _content(result: object) -> str:
    if isinstance(result, Mapping):
        return str(result.get("content") or result.get("text") or "")
    return ""


def _how_many(text: str) -> int:
    return next((int(word) if word.isdigit() else NUMBERS[word] for word in words(text)
                 if (word.isdigit() and len(word) < 3) or NUMBERS.get(word, 1) > 1), 1)  # fmt: skip


def _subject(state: State, wish: Wish) -> str:
    here = own_works(state)
    return here[0].title.partition(" – ")[0] if here else wish.subject
