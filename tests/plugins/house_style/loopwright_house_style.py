"""A tool that finds words which a house avoids in its texts; they are set in `LOOPWRIGHT_HOUSE_STYLE_AVOID`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from loopwright.tools import CallContext, Effect, Tool, ToolResult


class CheckWordingArguments(BaseModel):
    """What the model has to give."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=20_000, description="the text to check")


class CheckWording:
    """Finds the words to avoid. It reads only, so a repeated call is as good as the first."""

    name = "check_wording"
    domain = "document"
    effect = Effect.READ
    repeatable = True
    description = "Find words in a text that the house style avoids. Check a text before you keep it."
    arguments = CheckWordingArguments

    def __init__(self, avoided: frozenset[str]) -> None:
        self._avoided = avoided

    def run(self, call: CallContext, arguments: CheckWordingArguments) -> ToolResult:
        words = re.findall(r"[\w-]+", arguments.text.lower())
        return ToolResult({"avoid": sorted(self._avoided.intersection(words))})


def make_tools(settings: Mapping[str, str]) -> list[Tool]:
    """Called once in the worker, with the plug-in's settings by their names in lower case."""
    if unknown := sorted(settings.keys() - {"avoid"}):
        raise ValueError(f"there is no LOOPWRIGHT_HOUSE_STYLE_{unknown[0].upper()}; set LOOPWRIGHT_HOUSE_STYLE_AVOID")
    avoided = frozenset(word.strip().lower() for word in settings.get("avoid", "").split(",") if word.strip())
    if not avoided:
        raise ValueError("set LOOPWRIGHT_HOUSE_STYLE_AVOID to words with commas between them")
    return [CheckWording(avoided)]
