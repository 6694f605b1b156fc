"""What may be called while a skill file is loaded, since it only makes values and runs nothing of the file's own."""

from __future__ import annotations

from skills.checks.declared import CREATE
from skills.checks.word_list import words

FIX = "do it in a step: loading the file only defines functions and constants"
"""What the author of anything else is told."""

_BUILTINS = words(
    """abs bool bytes classmethod dict divmod enumerate float format frozenset int isinstance len list max min
    object ord chr property reversed round set slice sorted staticmethod str sum super tuple type zip range"""
)
# Modules whose calls only make values.
_MODULES = words(
    """dataclasses decimal enum fractions inngest ipaddress math operator pydantic re statistics string textwrap typing
    typing_extensions uuid zoneinfo functools abc contextlib types"""
)
_CALLS = words(
    """datetime.timedelta datetime.date datetime.time datetime.datetime datetime.timezone collections.namedtuple
    collections.OrderedDict collections.defaultdict collections.Counter collections.deque logging.getLogger json.dumps
    json.loads hashlib.sha256 urllib.parse.quote urllib.parse.urlencode random.Random"""
)
_NOT = words(
    """inngest.Inngest math.factorial math.comb math.perm functools.reduce operator.call operator.methodcaller
    typing.ForwardRef typing.get_type_hints typing_extensions.get_type_hints types.new_class types.prepare_class"""
)
METHODS = words(
    """capitalize casefold copy decode encode endswith format fromisoformat fromkeys get isoformat items join keys lower
    lstrip partition removeprefix removesuffix replace rpartition rsplit rstrip split splitlines startswith strip title
    total_seconds union upper values zfill"""
)
# What a container that holds own code may be asked all the same.
LOOKS = words("get items keys copy")
METACLASSES = words("builtins.type enum.EnumMeta enum.EnumType abc.ABCMeta")
DECORATORS = words(
    """dataclasses.dataclass pydantic.dataclasses.dataclass functools.cache functools.lru_cache functools.wraps
    functools.total_ordering functools.cached_property functools.singledispatch builtins.property builtins.staticmethod
    builtins.classmethod abc.abstractmethod contextlib.contextmanager typing.final typing.overload typing.override
    typing.runtime_checkable typing_extensions.final typing_extensions.overload typing_extensions.override
    typing_extensions.runtime_checkable pydantic.field_validator pydantic.model_validator pydantic.field_serializer
    pydantic.model_serializer pydantic.computed_field pydantic.validate_call enum.unique enum.verify enum.member
    enum.nonmember enum.property"""
)
# Modules that call nothing by its name.
ASK_NOBODY = ("builtins.", "inngest.", "pydantic.", "dataclasses.")
# They work out types that are given as text.
TAKE_TYPES = words("pydantic.TypeAdapter pydantic.create_model")


def is_known_call(dotted: str) -> bool:
    """Whether this function of Python's or a library's, by its full name, is one of them."""
    if dotted in _NOT:
        return False
    module, _, name = dotted.rpartition(".")
    if module == "builtins":
        return name in _BUILTINS
    return dotted in _CALLS or dotted == CREATE or dotted.partition(".")[0] in _MODULES
