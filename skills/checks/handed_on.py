"""Who may be given code of the file while it is loaded: those who keep it, and do not run it."""

from __future__ import annotations

from dataclasses import dataclass

from skills.checks.declared import CREATE
from skills.checks.word_list import words

_EVERYTHING = words(
    """dataclasses.field functools.partial functools.partialmethod functools.wraps functools.cached_property
    pydantic.PrivateAttr pydantic.AfterValidator pydantic.BeforeValidator pydantic.PlainValidator pydantic.WrapValidator
    pydantic.PlainSerializer pydantic.WrapSerializer pydantic.Discriminator"""
)


@dataclass(frozen=True)
class Asked:
    """Which arguments it only keeps: those by position, those with these names, or all."""

    everything: bool = False
    by_position: bool = False
    names: frozenset[str] = frozenset()

    def lets(self, name: str | None) -> bool:
        return self.everything or (self.by_position if name is None else name in self.names)


NOTHING = Asked()
_BUILTIN = Asked(by_position=True)
_TYPE = Asked(by_position=True)
_FIELD = Asked(names=frozenset(("default", "default_factory")))
_KEPT = Asked(everything=True)


def takes_code(dotted: str | None) -> Asked:
    """What the thing of this name, which may be called while the file is loaded, can be given; None: a class of the
    file, whose objects keep what they are given."""
    if dotted is None or dotted in _EVERYTHING or dotted == CREATE or dotted.startswith(("typing.", "typing_ext")):
        return _KEPT
    if dotted == "pydantic.TypeAdapter":
        # It reads how a class is built; what that could run for it is refused where the class stands.
        return _TYPE
    if dotted == "pydantic.Field":
        return _FIELD
    # They look at what they are given, and only `key` is called.
    return _BUILTIN if dotted.startswith("builtins.") else NOTHING
