"""Check what may stand at module level of a skill file: definitions and plain values, no code of the file's own.

`HELD_BY_THE_JAIL` lists code that would run all the same: the rules read what is written and follow no values.
"""

from __future__ import annotations

import time

import pytest

from skills.checks.gate import tree_problems
from skills.checks.syntax import parse_source
from skills.format.problem import SkillProblem
from tests.skills.skill_files import GOOD

GO = """

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import json
import operator
import re
import string
import types
import typing

import pydantic


def go(*given: object, **named: object) -> object:
    return given


class P:
    @property
    def v(self) -> int:
        return 1

    def lower(self) -> int:
        return 1

"""
LINES = (GOOD + GO).count("\n")

RUNS = {
    "what is not for types alone": "if typing.TYPE_CHECKING:\n    pass\nelse:\n    go()",
    "what is done alone": "if __name__ == '__main__':\n    pass\nelse:\n    go()",
    "what is done alone by another name": "__name__ = '__main__'\nif __name__ == '__main__':\n    go()",
    "a key": "X = sorted([1], key=go)",
    "a key of max": "X = max([1], key=go)",
    "a key that is a lambda": "X = min([1], key=lambda one: one)",
    "a filter": "X = list(filter(go, [1]))",
    "a map": "X = list(map(go, [1]))",
    "operator.call": "X = operator.call(go)",
    "a call as a decorator": "@operator.call\ndef x() -> None: ...",
    "a caller of methods": 'X = operator.methodcaller("lower")(P)',
    "a replacement": 'X = re.sub("a", lambda found: "b", "a")',
    "reduce": "X = functools.reduce(go, [1, 2])",
    "a partial that is called": "X = functools.partial(go)()",
    "a cache that is a decorator": "@functools.lru_cache(go)\ndef x() -> None: ...",
    "a class that is subscribed": "class A:\n    def __class_getitem__(cls, n: int) -> int: return n\nX = A[1]",
    "a property": "X = P().v",
    "a method with a harmless name": "X = P().lower()",
    "a function of a class": "class A:\n    def f(self) -> int: return 1\nX = sorted([1], key=A.f)",
    "an own decorator": "@go\ndef x() -> None: ...",
    "a builtin as a decorator": "@sorted\ndef x() -> None: ...",
    "a setter of something else": "@P.setter\ndef x() -> None: ...",
    "a metaclass": "class M(type): ...\nclass A(metaclass=M): ...",
    "a metaclass with a call": "class M(type):\n    def __call__(cls) -> int: return 1\nclass A(metaclass=M): ...",
    "a hook for subclasses": "class A:\n    def __init_subclass__(cls) -> None: ...\nclass B(A): ...",
    "a hook that is set": "class A:\n    __init_subclass__ = go\nclass B(A): ...",
    "a hook for names": "class A:\n    def __set_name__(self, of: object, name: str) -> None: ...\n"
    "class B:\n    a = A()",
    "a hook of pydantic": "class A(pydantic.BaseModel):\n    def __pydantic_init_subclass__(cls) -> None: ...",
    "a schema of its own": "class A:\n    def __get_pydantic_core_schema__(cls, a: int, b: int) -> int: return a",
    "members of an enum": "class A(enum.Enum):\n    def __init__(self, n: int) -> None: ...\n    ONE = 1",
    "values of an enum": "class A(enum.Enum):\n    def _generate_next_value_(a, b, c, d): return 1\n"
    "    ONE = enum.auto()",
    "a beginning": "class A:\n    def __init__(self) -> None: ...\nX = A()",
    "an inherited beginning": "class A:\n    def __init__(self) -> None: ...\nclass B(A): ...\nX = B()",
    "a factory that runs": "@dataclasses.dataclass\nclass A:\n    a: object = dataclasses.field(default_factory=go)\n"
    "X = A()",
    "a factory of a dictionary": 'X = collections.defaultdict(go)["a"]',
    "a validator that runs": "class A(pydantic.BaseModel):\n    a: typing.Annotated[int, pydantic.AfterValidator(go)]"
    "\nX = A(a=1)",
    "a validator by name": "T = typing.Annotated[int, pydantic.AfterValidator(go)]\nclass A(pydantic.BaseModel):\n"
    "    a: T\nX = A(a=1)",
    "a decorated validator": "class A(pydantic.BaseModel):\n    a: int\n    @pydantic.field_validator('a')\n"
    "    def f(cls, a: int) -> int: return a\nX = A(a=1)",
    "names that are computed": "class A(pydantic.BaseModel):\n    model_config = {'alias_generator': go}\n    a: int",
    "names that are computed for a class": "class A(pydantic.BaseModel, alias_generator=go):\n    a: int",
    "titles that are computed": "class A(pydantic.BaseModel):\n    a: int = pydantic.Field(field_title_generator=go)",
    "a comparison": "class A:\n    def __lt__(self, other: object) -> bool: return True\nX = A() < A()",
    "a sum": "class A:\n    def __add__(self, other: int) -> int: return 1\nX = A() + 1",
    "a truth": "class A:\n    def __bool__(self) -> bool: return True\nX = not A()",
    "an f-string": "class A:\n    def __format__(self, how: str) -> str: return how\nX = f'{A()}'",
    "an f-string of a name": "class A:\n    def __str__(self) -> str: return ''\na = A()\nX = f'{a}'",
    "an iteration": "class A:\n    def __iter__(self) -> object: return 1\nX = [*A()]",
    "a hash": "class A:\n    def __hash__(self) -> int: return 1\nX = {A()}",
    "an attribute that is set": "import inngest as other\nother.Event = go",
    "an item that is set": "X = {}\nX[0] = 1",
    "an attribute set by a loop": "X = [1 for go.a in [1]]",
    "an annotation": "x: go() = 1",
    "an annotation of an argument": "def x(a: go()) -> None: ...",
    "an annotation of a result": "def x() -> go(): ...",
    "an annotation as text": "class A(pydantic.BaseModel):\n    a: 'go()'",
    "an annotation as text in a type": "class A(pydantic.BaseModel):\n    a: list['go()']",
    "an annotation by a name": "T = 'go()'\nclass A(pydantic.BaseModel):\n    a: T",
    "an annotation by a computed name": "T = 'go' + '()'\nclass A(pydantic.BaseModel):\n    a: T",
    "the bound of a type": "T = typing.TypeVar('T', bound='go()')",
    "a key in a container": "KEYS = {'a': go}\nX = sorted([1], key=KEYS['a'])",
    "a key that is kept in an object": "@dataclasses.dataclass\nclass A:\n    a: object\nX = A(go)\n"
    "Y = sorted([1], key=X.a)",
    "a key out of a comprehension": "X = [sorted([1], key=one) for one in [go]]",
    "a type that is made": "X = type('X', (), {'__init_subclass__': go})\nclass A(X): ...",
    "a class by another name": "class A: ...\nA = go\nX = A()",
    "a JSON encoder": "class A(json.JSONEncoder):\n    def default(self, o: object) -> int: return 1\n"
    "X = json.dumps(1, cls=A)",
    "a formatter": "class A(string.Formatter):\n    def get_value(self, a, b, c): return 1\nX = A().format('{0}')",
    "a class of a dictionary": "class A(dict):\n    def __setitem__(self, a, b): ...\nX = A.fromkeys([1])",
    "an import that hides a builtin": "def x() -> None:\n    from functools import partial as map\n",
    "an import with two meanings": "def x() -> None:\n    from operator import call as go2\nfrom re import sub as go2",
    "a method called by its name": "@types.coroutine\ndef x() -> None: ...",
    "a manager": "@contextlib.contextmanager(go)\ndef x() -> None: ...",
    "an object hook": "X = json.loads('{}', object_hook=go)",
    "what Python builds classes with": "__build_class__ = go\nclass A: ...",
    "a subscribed call": "X = list[go()]()",
    "a function of a class, named in its body": "class A:\n    def f(a: int) -> int: return a\n"
    "    X = sorted([1], key=f)",
    "a function of a class by another name": "class A:\n    def f(a: int) -> int: return a\n    g = f\n"
    "    X = sorted([1], key=g)",
    "a property of many": "X = [one.v for one in (P(), P())]",
    "a property in an f-string": "a = P()\nX = f'{a.v}'",
    "a property by its name": "X = sorted([P()], key=operator.attrgetter('v'))",
    "a property in a template": "X = '{0.v}'.format(P())",
    "a property by a template that is handed on": "X = sorted([P()], key='{0.v}'.format)",
    "a property by getattr": "X = sorted(['v'], key=functools.partial(getattr, P()))",
    "a property by a protocol": "@typing.runtime_checkable\nclass Q(typing.Protocol):\n    v: int\n"
    "X = isinstance(P(), Q)",
    "a property that pydantic reads": "class A(pydantic.BaseModel):\n"
    "    model_config = pydantic.ConfigDict(from_attributes=True)\n    v: int\n"
    "class B(pydantic.BaseModel):\n    a: A\nX = B(a=P())",
    "a property that pydantic reads by a name that is computed": "class A(pydantic.BaseModel):\n"
    "    model_config = {'from_' + 'attributes': True}\n    v: int\n"
    "class B(pydantic.BaseModel):\n    a: A\nX = B(a=P())",
    "a property that is a field": "@dataclasses.dataclass(init=False)\nclass A:\n    a: int\n"
    "    @property\n    def a(self) -> int: return 1\nX = f'{A()}'",
    "a property in a type as text": "X = P()\nclass A(pydantic.BaseModel):\n    a: 'X.v'",
    "a property that is set": "@dataclasses.dataclass\nclass A:\n    a: int\n    @property\n"
    "    def a(self) -> int: return 1\n    @a.setter\n    def a(self, a: int) -> None: ...\nX = A(1)",
    "a type that is text": "X = pydantic.TypeAdapter('go()')",
    "a filter by a name": "N = go\nX = list(filter(N, [1]))",
    "titles that an adapter asks for": "X = pydantic.TypeAdapter(int, config={'title_generator': go})",
    "the keys of what becomes a dictionary": "class A:\n    def keys(self) -> list[str]: return []\nX = dict(A())",
    "the keys of what is put into one": "class A:\n    def keys(self) -> list[str]: return []\nX = {**A()}",
    "the keys of what becomes arguments": "class A:\n    def keys(self) -> list[str]: return []\nX = dict(**A())",
    "the keys of a class": "class A:\n    @staticmethod\n    def keys() -> list[str]: return []\nX = dict(A)",
    "a number of its own": "import statistics\nclass A:\n"
    "    def as_integer_ratio(self) -> tuple[int, int]: return (1, 1)\nX = statistics.mean([A()])",
    "a text of its own": "import textwrap\nclass A:\n    def expandtabs(self, n: int) -> str: return ''\n"
    "X = textwrap.wrap(A())",
    "a text of its own that is kept in a list": "import uuid\nclass A(str):\n"
    "    def replace(self, a: str, b: str) -> str: return ''\nA1 = [A('x')]\nX = uuid.UUID(A1[0])",
    "a mapping of its own": "import urllib.parse\nclass A:\n    def items(self) -> list[str]: return []\n"
    "X = urllib.parse.urlencode(A())",
    "a subclass check": "class A(abc.ABC):\n    def __subclasshook__(cls, other: type) -> bool: return True\n"
    "X = isinstance(1, A)",
}

RUNS_NOT = {
    "a table of functions": "TABLE = {'go': go}\nNAMES = sorted(TABLE)\nMOST = len(TABLE)",
    "a partial that is kept": "FOUND = functools.partial(go, 1)",
    "names that a method has, too": "RAW = ['a']\nclass A:\n    def raw(self) -> int: return 1\n"
    "X = [raw.rstrip('/') for raw in RAW]",
    "names that a field has, too": "class A(pydantic.BaseModel):\n"
    "    raw: object = pydantic.Field(default_factory=go)\nX = [raw.rstrip('/') for raw in ['a']]",
    "names that a function uses, too": "def x() -> list[object]: return [raw for raw in [go, lambda: 1]]\n"
    "X = [raw.rstrip('/') for raw in ['a']]",
    "constants with properties": "@dataclasses.dataclass(frozen=True)\nclass A:\n    a: str\n"
    "    @property\n    def b(self) -> str: return self.a\nX = (A('1'), A('2'))\nY = {one.a: one for one in X}",
    "models with properties": "class A(pydantic.BaseModel):\n    model_config = pydantic.ConfigDict(frozen=True)\n"
    "    a: str\n    @property\n    def b(self) -> str: return self.a\nX = [A(a='1')]",
    "an adapter of a class with a validator": "class A(pydantic.BaseModel):\n    a: int\n"
    "    @pydantic.field_validator('a')\n    @classmethod\n    def f(cls, a: int) -> int: return a\n"
    "X = pydantic.TypeAdapter(list[A])",
    "objects with methods that texts have, too": "@dataclasses.dataclass(frozen=True)\nclass A:\n    a: str\n"
    "    def title(self) -> str: return self.a\nX = (A('1'), A('2'))\n"
    "N = re.compile('|'.join(one.a for one in X))\nY = {**{one.a: one for one in X}}",
    "a filter of what is empty": "X = list(filter(None, ['a', '']))",
    "a key of the library": "X = sorted(['b'], key=str.lower)\nY = sorted([(1, 2)], key=operator.itemgetter(1))",
    "objects of its own": "@dataclasses.dataclass(frozen=True)\nclass A:\n    a: str = 'x'\n    b: list[str] = "
    "dataclasses.field(default_factory=list)\n    def lowered(self) -> str: return self.a.lower()\n"
    "X = (A('1'), A())\nY = [one.a.upper() for one in X]\nZ = f'{X[0].a}'",
    "members of an enum": "class A(enum.StrEnum):\n    ONE = 'one'\n    def says(self) -> str: return self.value\n"
    "X = {A.ONE: 1}\nY = A('one')\nZ = [one.value for one in A]",
    "a model": "class A(pydantic.BaseModel):\n    model_config = pydantic.ConfigDict(frozen=True)\n"
    "    a: int = pydantic.Field(ge=1, description='of it (all)')\n"
    "    b: list[int] = pydantic.Field(default_factory=lambda: [1])\n    c: 'A | None' = None\n"
    "    @pydantic.field_validator('a')\n    @classmethod\n    def f(cls, a: int) -> int: return a\n"
    "    @property\n    def d(self) -> int: return self.a\n    @d.setter\n    def d(self, a: int) -> None: ...",
    "a model that is made": "class A(pydantic.BaseModel):\n    a: int\nclass B(pydantic.BaseModel):\n    a: A\n"
    "X = B(a=A(a=1))",
    "validators that are declared": "T = typing.Annotated[int, pydantic.AfterValidator(go)]\n"
    "class A(pydantic.BaseModel):\n    a: T",
    "decorators of the library": "@functools.lru_cache(maxsize=8)\ndef x(a: int) -> int: return a\n"
    "@contextlib.contextmanager\ndef y() -> typing.Iterator[int]: yield 1\n@functools.wraps(go)\ndef z() -> None: ...",
    "an error of its own": "class A(Exception):\n    def __init__(self, a: int) -> None: self.a = a",
    "a class that iterates": "class A:\n    def __iter__(self) -> typing.Iterator[int]: yield 1\n"
    "def x(a: A) -> 'list[A]': return [a]",
    "types with names": "Level = typing.Literal['a()', 'b']\nNames = dict[str, 'P']\n"
    "def x(a: Level, b: Names) -> None: ...",
    "a generic class": "T = typing.TypeVar('T')\nclass A(typing.Generic[T]):\n    a: T\nB = A[int]",
    "a tuple with names": "A = collections.namedtuple('A', 'a b')\nclass B(typing.NamedTuple):\n    a: int\nX = B(1).a",
}

# What the rules refuse though it would do no harm, with a word of the fix that they name.
REFUSED_PLAINLY = {
    "an object of a class without fields": ("class A:\n    limit = 3\nX = A()", 3, "dataclass"),
    "an object of a kind of text": ("class A(str): ...\nX = A('a')", 2, "dataclass"),
    "a record that inherits a validator": (
        "class A(pydantic.BaseModel):\n    a: int\n    @pydantic.field_validator('a')\n    @classmethod\n"
        "    def f(cls, a: int) -> int: return a\nclass B(A): ...\nX = B(a=1)",
        7,
        "validators",
    ),
    "the type of a value": ("X = type(1)", 1, "write the value out"),
    "a random id": ("import uuid\nX = uuid.uuid4()", 2, "in a step"),
    "the time": ("import datetime\nX = datetime.datetime.now()", 2, "in a step"),
    "a long sum": ("import math\nX = math.factorial(10**6)", 2, "write the value out"),
    "a class that is made": ("A = pydantic.create_model('A', a=int)", 1, "write the value out"),
    "a key of the file's own": ("X = sorted([1], key=lambda one: -one)", 1, "operator.itemgetter"),
    "a function that is mapped": ("X = list(map(go, [1]))", 1, "str.lower"),
    "a function by a second name": ("N = go\nX = re.sub('a', N, 'a')", 2, "in a step"),
    "a function in a partial": ("X = re.sub('a', functools.partial(go), 'a')", 1, "in a step"),
    "a factory by a second name": (
        "N = go\n@dataclasses.dataclass\nclass A:\n    a: object = dataclasses.field(default_factory=N)\nX = A()",
        5,
        "factories",
    ),
    "settings by a second name": (
        "N = go\nclass A(pydantic.BaseModel):\n    model_config = {'alias_generator': N}\n    a: int",
        3,
        "in a step",
    ),
}

PLAIN_VALUES = {
    "texts": "import textwrap\nX = textwrap.dedent('  a')\nY = re.compile(re.escape('a.b'), re.I)\n"
    "Z = re.sub('a+', 'b', 'aa')",
    "numbers": "import decimal\nimport math\nimport statistics\nX = statistics.fmean([1, 2])\n"
    "Y = decimal.Decimal('1').quantize(decimal.Decimal('0.1'))\nZ = math.ceil(1.5)",
    "ids and addresses": "import urllib.parse\nimport uuid\nX = uuid.UUID('12345678123456781234567812345678')\n"
    "Y = urllib.parse.urlencode({'a': 1})",
    "dates": "import datetime\nX = datetime.datetime.strptime('2020', '%Y') + datetime.timedelta(days=1)\n"
    "Y = datetime.date.fromisoformat('2020-01-01')",
    "a list that grows": "X = [1]\nX += [2]",
    "a mark for what is missing": "MISSING = object()",
    "what holds for all": "X = all(one > 0 for one in (1, 2)) and isinstance(1, int)",
    "functions by name": "X = types.MappingProxyType({'go': go})\nY = re.compile('|'.join(X))\n"
    "Z = dict(zip(('a', 'b'), (go, go)))",
    "functions of Python": "X = list(map(str.upper, ['a']))\nY = json.loads('{}', parse_float=str)",
    "keys that a constant knows": "ORDER = ['b', 'a']\nX = sorted(['a', 'b'], key=ORDER.index)\n"
    "Y = max([1], default=ORDER)",
    "records that inherit": "@dataclasses.dataclass(frozen=True)\nclass A:\n    a: int\n"
    "@dataclasses.dataclass(frozen=True)\nclass B(A):\n    b: int = 0\n"
    "X = sorted([B(1)], key=operator.attrgetter('a'))",
    "a dictionary with types": "class A(typing.TypedDict):\n    a: int\nX = A(a=1)",
    "an enum, all of it": "class A(enum.Enum):\n    ONE = 'one'\n    @property\n    def b(self) -> str: return ''\n"
    "X = tuple(A)\nY = A('one')",
    "a model with a generic field": "T = typing.TypeVar('T')\nclass A(pydantic.BaseModel, typing.Generic[T]):\n"
    "    a: T\nX = A[int](a=1)",
    "a type with a note": "class A(pydantic.BaseModel):\n"
    "    a: typing.Annotated[int, pydantic.Field(description='it (all)')]\n"
    "    b: typing.Annotated[str, 'see (this)'] = ''\nX = A(a=1)",
    "errors and parsers": "import html.parser\nclass A(LookupError): ...\nclass B(inngest.NonRetriableError): ...\n"
    "class C(html.parser.HTMLParser):\n    def handle_data(self, data: str) -> None: ...",
    "an abstract class": "class A(metaclass=abc.ABCMeta):\n    @abc.abstractmethod\n    def f(self) -> int: ...",
}

HELD_BY_THE_JAIL = {
    "a property in a template": "@dataclasses.dataclass\nclass A:\n    a: int\n    @property\n"
    "    def v(self) -> int: return 1\nX = '{0.v}'.format(A(1))",
    "an enum as text": "class A(enum.Enum):\n    ONE = 1\n    def __str__(self) -> str: return ''\nX = f'{A.ONE}'",
    "a function out of a table": "TABLE = [{'go': go}]\nX = [re.sub('a', one['go'], 'a') for one in TABLE]",
    "a validator of a class that comes later": "class A(pydantic.BaseModel):\n    a: 'B'\n"
    "class B(pydantic.BaseModel):\n    b: int\n    @pydantic.field_validator('b')\n    @classmethod\n"
    "    def f(cls, b: int) -> int: return b\nX = A(a={'b': 1})",
}


def problems_of(text: str) -> list[SkillProblem]:
    source = GOOD + GO + text + "\n"
    return tree_problems(*parse_source(source.encode()), "words", {})


@pytest.mark.parametrize("name", RUNS)
def test_what_would_run_is_refused_on_its_line(name: str) -> None:
    found = problems_of(RUNS[name])
    assert any(one.line is not None and one.line > LINES and one.fix for one in found), found


@pytest.mark.parametrize("name", RUNS_NOT)
def test_what_only_defines_passes(name: str) -> None:
    assert problems_of(RUNS_NOT[name]) == []


@pytest.mark.parametrize("name", PLAIN_VALUES)
def test_plain_values_may_be_made(name: str) -> None:
    assert problems_of(PLAIN_VALUES[name]) == []


@pytest.mark.parametrize("name", REFUSED_PLAINLY)
def test_what_the_rules_do_not_know_is_refused_with_a_way_out(name: str) -> None:
    text, line, fix = REFUSED_PLAINLY[name]
    found = problems_of(text)
    assert any(one.line == LINES + line and fix in one.fix for one in found), found


@pytest.mark.parametrize("name", HELD_BY_THE_JAIL)
def test_what_only_the_jail_holds_passes(name: str) -> None:
    """Keep the list of known gaps true: a rule that closes one takes it out of the list."""
    assert problems_of(HELD_BY_THE_JAIL[name]) == []


def test_long_chains_of_names_take_no_time() -> None:
    """Given names that lead to a function over many others, in the worst order, their use as a key is refused soon."""
    chain = "".join(f"a{n} = a{n + 1}\n" for n in range(4000)) + "a4000 = go\n"
    began = time.process_time()
    found = problems_of(chain + "X = sorted([1], key=a0)")
    assert any("may run a0" in one.reason for one in found)
    assert time.process_time() - began < 20
