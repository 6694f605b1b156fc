"""The calls that make the planned works."""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.model.reply import ReplyCall
from standins.model.rules.planning import PlannedWork, picture_size
from standins.model.rules.shown_state import ShownState, ShownWork
from standins.model.rules.story import StoryRequest
from standins.model.rules.texts import compose_text
from standins.model.rules.vocabulary import ordinals, words
from standins.model.rules.wish import WorkWish

TOOL_OF = {
    "image": "generate_image",
    "video": "generate_video",
    "audio": "generate_audio",
    "model3d": "generate_model3d",
    "document": "write_document",
}
_SECONDS = {"video": 5, "audio": 10}


def making_calls(
    works: Sequence[PlannedWork], wish: WorkWish, request: StoryRequest, state: ShownState
) -> list[ReplyCall]:
    """Return the call that makes each work, in order."""
    kind = works[0].kind if works else ""
    references = references_of(request, state, kind) if kind in {"image", "video"} else []
    return [_making_call(work, wish, references, state.language) for work in works]


def references_of(request: StoryRequest, state: ShownState, kind: str) -> list[str]:
    """Return the pictures that a new work starts from: what is attached, else the one its words point at.

    A picture starts only from one that the task was given; a film also from one that the task made.
    """
    if request.attachments:
        return [one for one in request.attachments if one]
    pictures = [work for work in state.objects if work.kind == "image"]
    made_here = {one for order in state.orders for one in order.object_ids}
    given = [work for work in pictures if work.id not in made_here] or (pictures if kind == "video" else [])
    points = ordinals(request.text) or re.search(r"\b(turn|animate|this|that|it|these|those)\b", request.text.lower())
    return [work.id for work in pick(given, request.text)[:1]] if given and points else []


def pick(works: Sequence[ShownWork], text: str) -> list[ShownWork]:
    """Return the works that a text names by ordinal or title; all of them if it names none."""
    places = [place - 1 if place > 0 else place for place in ordinals(text)]
    chosen = [works[place] for place in places if -len(works) <= place < len(works)]
    if chosen:
        return chosen
    said = " ".join(words(text))
    named = [work for work in works if work.title and " ".join(words(work.title)) in said]
    return named or list(works)


def _making_call(work: PlannedWork, wish: WorkWish, references: list[str], language: str) -> ReplyCall:
    name = TOOL_OF[work.kind]
    if work.kind == "document":
        return ReplyCall(name, {"title": work.title, "content": compose_text(wish, work.title, language)})
    arguments: dict[str, object] = {"prompt": work.prompt, "title": work.title}
    if work.kind == "image":
        arguments["size"] = picture_size(wish.text)
    if work.kind in _SECONDS:
        arguments["seconds"] = wish.seconds or _SECONDS[work.kind]
    if references and work.kind in {"image", "video"}:
        arguments["references"] = references
    return ReplyCall(name, arguments)
