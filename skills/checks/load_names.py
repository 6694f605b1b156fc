"""List what may be called while a skill file is loaded, and find the names in it that stand for its own code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.source import CREATE, SkillSource
from skills.checks.syntax import split_words

_BUILTIN_CALLS = split_words(
    """abs all any ascii bin bool bytearray bytes complex dict divmod enumerate filter float format frozenset hex int
    isinstance issubclass len list map max min object oct ord chr range repr reversed round set slice sorted str sum
    tuple zip"""
)
# Modules whose calls only make values.
_PURE_MODULES = tuple(
    f"{name}."
    for name in split_words(
        """base64 decimal enum fractions html inngest ipaddress math pydantic re statistics string textwrap unicodedata
        urllib.parse zoneinfo"""
    )
)
_PURE_CALLS = split_words(
    """collections.Counter collections.OrderedDict collections.defaultdict collections.deque dataclasses.asdict
    dataclasses.replace datetime.date datetime.datetime datetime.time datetime.timedelta datetime.timezone
    hashlib.sha256 itertools.chain itertools.chain.from_iterable json.dumps json.loads logging.getLogger
    operator.attrgetter operator.itemgetter random.Random uuid.UUID uuid.uuid5"""
)
# They take long, make a client, or build a class that the rules cannot read.
_REFUSED_CALLS = split_words(
    "inngest.Inngest math.comb math.factorial math.perm pydantic.create_model pydantic.validate_call"
)
# They keep the functions that they are given, and call none of them here.
_KEEPERS = split_words(
    """collections.namedtuple dataclasses.field functools.partial functools.partialmethod functools.wraps
    pydantic.AfterValidator pydantic.BeforeValidator pydantic.Discriminator pydantic.PlainSerializer
    pydantic.PlainValidator pydantic.PrivateAttr pydantic.WrapSerializer pydantic.WrapValidator
    types.MappingProxyType types.SimpleNamespace typing.NamedTuple typing.NewType typing.ParamSpec typing.TypeVar
    typing.TypeVarTuple typing.TypedDict typing.cast"""
) | {CREATE}
# Arguments that the call itself calls; 0 is the first by position.
_CALLED_ARGUMENTS: dict[str, frozenset[str | int]] = {
    **dict.fromkeys(("builtins.max", "builtins.min", "builtins.sorted"), frozenset(("key",))),
    **dict.fromkeys(("builtins.filter", "builtins.map"), frozenset((0,))),
    "json.dumps": split_words("cls default"),
    "json.loads": split_words("cls object_hook object_pairs_hook parse_constant parse_float parse_int"),
}
VALUE_METHODS = split_words(
    """capitalize casefold combine copy count decode digest encode endswith format from_bytes fromhex fromisoformat
    fromkeys get hexdigest index isoformat items join keys lower lstrip maketrans partition quantize removeprefix
    removesuffix replace rpartition rsplit rstrip split splitlines startswith strip strptime title total_seconds
    translate union upper values zfill"""
)
DECORATORS = split_words(
    """abc.abstractmethod builtins.classmethod builtins.property builtins.staticmethod contextlib.contextmanager
    dataclasses.dataclass enum.member enum.nonmember enum.property enum.unique enum.verify functools.cache
    functools.cached_property functools.lru_cache functools.singledispatch functools.total_ordering functools.wraps
    pydantic.computed_field pydantic.dataclasses.dataclass pydantic.field_serializer pydantic.field_validator
    pydantic.model_serializer pydantic.model_validator pydantic.validate_call typing.final typing.overload
    typing.override typing.runtime_checkable"""
) | {CREATE}
_RECORD_DECORATORS = split_words("dataclasses.dataclass pydantic.dataclasses.dataclass")
_RECORD_BASES = split_words("pydantic.BaseModel typing.NamedTuple typing.TypedDict")
_PLAIN_BASES = split_words("builtins.object abc.ABC typing.Generic typing.Protocol")
_PROPERTIES = split_words("builtins.property enum.property functools.cached_property")
_PLAIN_DECORATORS = split_words(
    "abc.abstractmethod builtins.classmethod builtins.property builtins.staticmethod typing.final typing.overload"
)
# Methods that a library asks for by name: pydantic of a new object, `dict()` of what it is made from.
_ASKED_METHODS = split_words("keys model_post_init")
FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_pure_call(dotted: str) -> bool:
    """Return whether a function, class or method of Python or a library, by its full name, only makes a value."""
    if dotted in _REFUSED_CALLS:
        return False
    owner, _, name = dotted.rpartition(".")
    if owner == "builtins":
        return name in _BUILTIN_CALLS
    if dotted in _PURE_CALLS or dotted in _KEEPERS or dotted.startswith(_PURE_MODULES):
        return True
    return name in VALUE_METHODS and is_pure_call(owner)


def calls_argument(dotted: str, argument: str | int) -> bool:
    """Return whether a call itself calls this argument (a keyword, or a position), as `sorted` does its `key`."""
    return argument in _CALLED_ARGUMENTS.get(dotted, ())


def keeps_code(dotted: str, argument: str | int) -> bool:
    """Return whether a call leaves a function alone that it is given as this argument."""
    if dotted == "pydantic.Field":
        return argument in ("default", "default_factory")
    if dotted.startswith("builtins.") or dotted == "pydantic.TypeAdapter":
        # `dict` asks a class for its `keys`.
        return isinstance(argument, int) and dotted != "builtins.dict"
    return dotted in _KEEPERS


def names_bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment binds."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


class OwnNames:
    """Names of one file that stand for its own code, read once from top to bottom.

    `records` are the classes of which an object may be made while the file is loaded: dataclasses, models, named
    tuples, typed dictionaries and enums that define nothing which Python or a library calls.
    """

    def __init__(self, source: SkillSource) -> None:
        self._names = source.names
        classes = [node for node in source.nodes if isinstance(node, ast.ClassDef)]
        methods = [one for node in classes for one in node.body if isinstance(one, FUNCTION_NODES)]
        self.classes = frozenset(node.name for node in classes)
        self.methods = frozenset(one.name for one in methods)
        self.properties = frozenset(one.name for one in methods if not _PROPERTIES.isdisjoint(self._decorators(one)))
        self.records: set[str] = set()
        self._code = {node.name for node in source.tree.body if isinstance(node, FUNCTION_NODES)}
        for statement in source.tree.body:
            match statement:
                case ast.ClassDef(name=name) if name in source.names.once and self._is_record(statement):
                    self.records.add(name)
                case ast.ClassDef(name=name):
                    self._code.add(name)
                case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
                    if self.holds_code(value):
                        self._code.update(names_bound_by(statement))
                case _:
                    continue

    def dotted(self, node: ast.expr) -> str:
        """Return the full name in Python or a library, "" for a name of the file's own."""
        return (self._names.dotted(node) or "").replace("typing_extensions.", "typing.")

    def holds_code(self, node: ast.AST) -> bool:
        """Return whether a value is or holds a function or class of the file that could be called."""
        match node:
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                return True
            case ast.Name(id=name):
                return name in self._code
            case ast.Attribute(attr=name) if name in self.methods and not self.dotted(node):
                return True
            case ast.Call(func=func) if (name := self.dotted(func)) not in _KEEPERS and name != "pydantic.Field":
                # Its result holds none, and its arguments are checked on their own.
                return False
            case _:
                return any(self.holds_code(child) for child in ast.iter_child_nodes(node))

    def is_enum(self, node: ast.ClassDef) -> bool:
        """Return whether a base of the class comes from `enum`."""
        return any(self.dotted(base).startswith("enum.") for base in node.bases)

    def _decorators(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
        return {self.dotted(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list}

    def _is_record(self, node: ast.ClassDef) -> bool:
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        telling = [base for base in bases if self.dotted(base) not in _PLAIN_BASES]
        if not telling and not self._decorators(node) & _RECORD_DECORATORS:
            return False
        if not all(map(self._makes_record, telling)):
            return False
        fields = {name for one in node.body if not isinstance(one, FUNCTION_NODES) for name in names_bound_by(one)}
        return all(self._is_plain_part(one, fields, self.is_enum(node)) for one in node.body)

    def _makes_record(self, base: ast.expr) -> bool:
        """Return whether this base alone makes a class a record."""
        dotted = self.dotted(base)
        own = isinstance(base, ast.Name) and base.id in self.records
        return own or dotted in _RECORD_BASES or dotted.startswith("enum.")

    def _is_plain_part(self, part: ast.stmt, fields: set[str], in_enum: bool) -> bool:
        """Return whether nothing calls this part of a class unless the file names it."""
        if not isinstance(part, FUNCTION_NODES):
            return not self.holds_code(part)
        inner = part.name.startswith("_" if in_enum else "__")
        return not inner and part.name not in _ASKED_METHODS | fields and self._decorators(part) <= _PLAIN_DECORATORS
