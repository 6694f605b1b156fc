"""Every way in which a skill file can be wrong is named with its line, its reason and a fix; good ones pass."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from skills.checks import check_source
from skills.checks.gate import tree_problems
from skills.checks.syntax import parse_source
from skills.format.problem import Overreach, RefusedSkillError, SkillProblem
from tests.skills.skill_files import GOOD, allowed

LISTENING = '{"events": {"listen": ["text/written"]}}'


def and_listening(permissions: str) -> str:
    return "{" + permissions + ", " + LISTENING[1:]


def problems_of(text: str | bytes, stem: str = "words", others: Mapping[str, Path] | None = None) -> list[SkillProblem]:
    """What parsing and the syntax tree tell; lint and types have tests of their own."""
    source = text.encode() if isinstance(text, str) else text
    try:
        read, tree = parse_source(source)
    except RefusedSkillError as refused:
        return list(refused.problems)
    return tree_problems(read, tree, stem, others or {})


def trigger(text: str) -> str:
    return GOOD.replace('inngest.TriggerEvent(event="text/written")', text)


def cron(text: str) -> str:
    return trigger(f'inngest.TriggerCron(cron="{text}")')


def option(text: str) -> str:
    return GOOD.replace("retries=2", text)


def step(text: str) -> str:
    return GOOD.replace('return ctx.step.run("count", lambda: len(str(ctx.event.data["text"]).split()))', text)


SECOND = """
@client.create_function(fn_id="{fn_id}", trigger=inngest.TriggerCron(cron="0 8 * * *"))
def second(ctx: inngest.ContextSync) -> None:
    ctx.step.run("second", print)
"""

BROKEN: dict[str, tuple[str | bytes, int | None, str]] = {
    # Text that is no Python, or too much of it.
    "syntax error": ("def broken(:\n", 1, "invalid syntax"),
    "null byte": (b"# two\nx = 1\0\n", 2, "null byte"),
    "not UTF-8": (b"# two\nx = '\xff'\n", 2, "not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), 1, "not UTF-8"),
    "another encoding": (b"# coding: utf-7\nx = 1\n", 1, "written in utf-7"),
    "too large": (GOOD + "#" * 300_000, None, "more than 262144"),
    "nested too deeply": ("x = " + "(" * 5000 + ")" * 5000, 1, "nested"),
    "a deep sum": (GOOD + "x = " + "1+" * 60_000 + "1\n", None, "nested too deeply"),
    "deep signs": (GOOD + "x = " + "-" * 100_000 + "1\n", None, "nested too deeply"),
    # The manifest.
    "no manifest": ("x = 1\n", 1, "no MANIFEST"),
    "manifest of calls": (GOOD.replace('{"title": "Words"', 'dict(a=1) or {"title": "Words"'), 5, "not a literal"),
    "unknown permission": (allowed('{"root": True}'), 5, "root"),
    "memory written": (allowed('{"memory": "write"}'), 5, "memory"),
    "budget of words": (allowed('{"model_budget_per_day": "much"}'), 5, "model_budget_per_day"),
    "host with a scheme": (allowed(and_listening('"hosts": ["https://a.example"]')), 5, "is not a valid host"),
    "secret for a stranger": (allowed(and_listening('"secrets": {"KEY": "a.example"}')), 5, "not among the hosts"),
    "secret in small letters": (
        allowed(and_listening('"hosts": ["a.example"], "secrets": {"key": "a.example"}')),
        5,
        "not a valid name of a secret",
    ),
    "unknown kind of events": (allowed('{"events": {"listen": ["text/written"], "hear": []}}'), 5, "no 'hear'"),
    "sends the engine's event": (
        allowed('{"events": {"listen": ["text/written"], "send": ["inngest/function.failed"]}}'),
        5,
        "the engine's own",
    ),
    "sends as the core": (
        allowed('{"events": {"listen": ["text/written"], "send": ["turn/requested"]}}'),
        5,
        "Loopwright's own",
    ),
    "invokes nothing that exists": (allowed(and_listening('"invoke": ["thing"]')), 5, "names no function"),
    "invokes the agent's own": (allowed(and_listening('"invoke": ["loopwright/forget"]')), 5, "Loopwright's own"),
    "invokes the agent's own otherwise": (
        allowed(and_listening('"invoke": ["loopwright-run/turn"]')),
        5,
        "loopwright-run-turn is Loopwright's own",
    ),
    "an address that nobody can read": (allowed(and_listening('"hosts": ["2130706433:80"]')), 5, "is not a valid host"),
    "an address in other figures": (allowed(and_listening('"hosts": ["0x7f.1"]')), 5, "is not a valid host"),
    "a port that is none": (allowed(and_listening('"hosts": ["a.example:99999"]')), 5, "is not a valid host"),
    "more hosts than a card shows": (allowed(and_listening(f'"hosts": {["a.example"] * 51}')), 5, "more than 50"),
    "a budget of many figures": (
        allowed(and_listening(f'"model_budget_per_day": "{"9" * 30}"')),
        5,
        "not an amount of money",
    ),
    "two manifests": (GOOD + 'MANIFEST = {"title": "a", "purpose": "b"}\n', 5, "more than once"),
    "channel with a space": (allowed(and_listening('"notify": ["the ops"]')), 5, "not a valid channel"),
    "types that nobody is to check": ("# type: ignore\n" + GOOD, 1, "the whole file"),
    "types that ty is not to check": ("#!/usr/bin/env python3\n\n# ty: ignore\n" + GOOD, 3, "the whole file"),
    # Imports.
    "import that does not exist": (GOOD + "import no_such_thing\n", 10, "no_such_thing"),
    "os": (GOOD + "import os\n", 10, "may not import os"),
    "os at the end of a step": (GOOD + "def end() -> None:\n    import os\n    os._exit(0)\n", 11, "import os"),
    "fork at import": (GOOD + "import os\nos.fork()\n", 10, "may not import os"),
    "sys.exit": (GOOD + "import sys\nsys.exit()\n", 10, "may not import sys"),
    "subprocess": (GOOD + "from subprocess import run\n", 10, "subprocess"),
    "segfault by ctypes": (GOOD + "import ctypes\nctypes.string_at(0)\n", 10, "ctypes"),
    "sockets": (GOOD + "import socket\n", 10, "socket"),
    "httpx": (GOOD + "import httpx\n", 10, "httpx"),
    "urllib.request": (GOOD + "from urllib.request import urlopen\n", 10, "urllib.request"),
    "threads": (GOOD + "import threading\n", 10, "threading"),
    "importlib": (GOOD + "import importlib\n", 10, "importlib"),
    "our insides": (GOOD + "from core.database import Database\n", 10, "core.database"),
    "the book": (GOOD + "from skills.book.skill import listing\n", 10, "skills.book.skill"),
    "a serving app": (GOOD + "import inngest.flask\n", 10, "inngest.flask"),
    "the AI adapters": (GOOD + "from inngest.experimental import ai\n", 10, "inngest.experimental"),
    "a neighbour": (GOOD + "from . import other\n", 10, "may not import other files"),
    "the door behind http": (
        allowed(LISTENING, 'def f() -> None:\n    http.door.run_id = "1"\n', "client, http"),
        11,
        "skills.kit.http has no door",
    ),
    "the door behind memory": (
        allowed(LISTENING, "def f() -> object:\n    return memory.door\n", "client, memory"),
        11,
        "skills.kit.memory has no door",
    ),
    "the door behind a name": (
        allowed(LISTENING, "def f() -> object:\n    h = http\n    return h.door\n", "client, http"),
        11,
        "is used as a value",
    ),
    "the door by its name": (
        allowed(LISTENING, 'def f() -> object:\n    return getattr(http, "door")\n', "client, http"),
        11,
        "",
    ),
    "the door behind the kit": (
        GOOD + "import skills.kit\ndef f() -> object:\n    return skills.kit.door\n",
        12,
        "skills.kit has no door",
    ),
    "the inside of the client": (GOOD + "def f() -> object:\n    return client._http_client\n", 11, "may not reach"),
    "a module behind a module": (GOOD + "import typing\ndef f() -> object:\n    return typing.sys\n", 12, "typing.sys"),
    "a module of another name": (
        GOOD + "import enum\ndef f() -> object:\n    return enum.bltns.open\n",
        12,
        "may not reach enum.bltns",
    ),
    "a module behind two": (GOOD + "import re\ndef f() -> object:\n    return re.enum.sys\n", 12, "re.enum.sys"),
    "a module out of a module by another name": (
        GOOD + "from enum import bltns as b\n",
        10,
        "may not import enum.bltns",
    ),
    "a module out of a module": (GOOD + "from typing import sys\n", 10, "typing.sys"),
    "everything of the kit": (GOOD.replace("import client", "import *"), 3, "everything"),
    "what the kit has not": (GOOD.replace("import client", "import client, shell"), 3, "no shell"),
    # Words.
    "eval": (step('return eval("1")'), 9, "eval"),
    "exec": (step('exec("1")'), 9, "exec"),
    "__import__": (step('return __import__("os").getpid()'), 9, "__import__"),
    "open": (step('return len(open("/etc/passwd").read())'), 9, "open"),
    "raise SystemExit": (step("raise SystemExit"), 9, "SystemExit"),
    "insides": (step("return len(().__class__.__base__.__subclasses__())"), 9, "__subclasses__"),
    "insides by getattr": (step('return getattr(ctx, "__globals__")'), 9, "__globals__"),
    # Work at import.
    "raises at load": (GOOD + "raise ValueError\n", 10, "raises while it is loaded"),
    "works at load": (GOOD + "1 / 0\n", 10, "1 / 0"),
    "while True": (GOOD + "while True:\n    pass\n", 10, "loop"),
    "for": (GOOD + "for n in range(3):\n    pass\n", 10, "loop"),
    "a call": (GOOD + "print('hello')\n", 10, "print"),
    "a call kept": (GOOD + "import time\nNOW = time.time()\n", 11, "time.time"),
    "its own function": (GOOD + "def table() -> int:\n    return 1\nTABLE = table()\n", 12, "table"),
    "its own decorator": (
        GOOD + "def twice(f: object) -> object:\n    return f\n@twice\ndef x() -> None: ...\n",
        12,
        "twice",
    ),
    "a class that works": (
        GOOD + "class A:\n    def __init__(self) -> None:\n        pass\nX = A()\n",
        13,
        "A is called",
    ),
    "a class body that works": (GOOD + "class A:\n    print(1)\n", 11, "print"),
    "a default that works": (GOOD + "import time\ndef f(x: float = time.time()) -> None: ...\n", 11, "time.time"),
    "a comprehension that counts": (GOOD + "X = [n for n in range(10**9)]\n", 10, "worked out"),
    "a large power": (GOOD + "X = 10 ** 10_000_000\n", 10, "worked out"),
    "try at load": (GOOD + "try:\n    X = 1\nexcept ValueError:\n    X = 2\n", 10, "decides"),
    "if at load": (GOOD + "if MANIFEST:\n    X = 1\n", 10, "decides"),
    "with at load": (GOOD + "with None:\n    pass\n", 10, "With"),
    "a client of its own": (
        GOOD.replace("@client.create", "@inngest.Inngest(app_id='other').create"),
        7,
        "no client of its own",
    ),
    # Functions.
    "no function": ('MANIFEST = {"title": "a", "purpose": "b"}\n', None, "no function"),
    "async": (GOOD.replace("def count", "async def count"), 8, "async"),
    "async on_failure": (
        option("on_failure=broke") + "async def broke(ctx: inngest.Context) -> None: ...\n",
        10,
        "async",
    ),
    "computed fn_id": (GOOD.replace('fn_id="count"', 'fn_id="co" + "unt"'), 7, "computed"),
    "no fn_id": (GOOD.replace('fn_id="count", ', ""), 7, "no fn_id"),
    "a slash in fn_id": (GOOD.replace('fn_id="count"', 'fn_id="a/b"'), 7, "not a valid function id"),
    "two functions with one id": (GOOD + SECOND.format(fn_id="count"), 11, "taken on line 7"),
    "an id like a handler's": (
        GOOD.replace('fn_id="count"', 'fn_id="disk-failure"'),
        7,
        "reserved for failure handlers",
    ),
    "an id that is another's failure": (
        option("on_failure=broke")
        + SECOND.format(fn_id="count-failure")
        + "def broke(ctx: inngest.ContextSync) -> None: ...\n",
        11,
        "'count-failure' is taken",
    ),
    "made in a function": (
        GOOD.replace("@client", "def make() -> None:\n  @client")
        .replace("\ndef count", "\n  def count")
        .replace("    return", "     return"),
        8,
        "registered inside another",
    ),
    "options by **": (option("**{}"), 7, "**"),
    "too many retries": (option("retries=21"), 7, "retries"),
    "account-wide concurrency": (
        option('concurrency=[inngest.Concurrency(limit=1, key="\'x\'", scope="account")]'),
        7,
        "beyond its own function",
    ),
    "computed concurrency": (option("concurrency=list(MANIFEST)"), 7, "not a literal list"),
    "a key that does not parse": (
        option('concurrency=[inngest.Concurrency(limit=1, key="event.")]'),
        7,
        "no expression",
    ),
    "a key of an unknown thing": (option('idempotency="ctx.data.id"'), 7, "'ctx' is unknown"),
    # Triggers.
    "no trigger": (GOOD.replace(', trigger=inngest.TriggerEvent(event="text/written")', ""), 7, "no trigger"),
    "computed trigger": (trigger("make()"), 7, "cannot be read"),
    "cron of words": (cron("now and then and again"), 7, "no minute"),
    "cron of six fields": (cron("0 0 8 * * *"), 7, "five fields"),
    "cron by name": (cron("@hourly"), 7, "five fields"),
    "cron out of range": (cron("61 * * * *"), 7, "cron"),
    "cron that never comes": (cron("0 8 30 2 *"), 7, "cron"),
    "cron with a strange zone": (cron("TZ=Mars/Base 0 8 * * *"), 7, "Mars/Base"),
    "hashed cron": (cron("H 8 * * *"), 7, "no minute"),
    "computed cron": (trigger('inngest.TriggerCron(cron=f"{1} * * * *")'), 7, "computed"),
    "jitter in hours": (trigger('inngest.TriggerCron(cron="0 8 * * *", jitter="2h")'), 7, "jitter"),
    "listens to the engine": (trigger('inngest.TriggerEvent(event="inngest/function.failed")'), 7, "engine's own"),
    "listens to the core": (trigger('inngest.TriggerEvent(event="message/received")'), 7, "Loopwright's own"),
    "listens to another's invocation": (
        trigger('inngest.TriggerEvent(event="skill/invoked.words.count")'),
        7,
        "Loopwright's own",
    ),
    "listens undeclared": (trigger('inngest.TriggerEvent(event="text/read")'), 7, "does not name"),
    "unknown root in an expression": (
        trigger('inngest.TriggerEvent(event="text/written", expression="data.size > 3")'),
        7,
        "'data' is unknown",
    ),
    "an expression that does not parse": (
        trigger('inngest.TriggerEvent(event="text/written", expression="event.data.x ==")'),
        7,
        "no expression",
    ),
    "the same trigger twice": (
        trigger('[inngest.TriggerEvent(event="text/written"), inngest.TriggerEvent(event="text/written")]'),
        7,
        "twice",
    ),
    "cancelled by calls": (
        option('cancel=[inngest.Cancel(event="text/written", if_exp="size(event.data.x) == 1")]'),
        7,
        "size may not stand",
    ),
    "cancelled by what cannot be read": (
        option('cancel=tuple([inngest.Cancel(event="text/stopped")])'),
        7,
        "cannot be read",
    ),
    "cancelled by a stranger": (option('cancel=[inngest.Cancel(event="text/stopped")]'), 7, "is cancelled by"),
    # Steps.
    "computed step id": (step('return ctx.step.run(f"count-{ctx.run_id}", lambda: 1)'), 9, "computed"),
    "no step id": (step("return ctx.step.run()"), 9, "no id"),
    "one id twice": (
        step('ctx.step.run("count", print)\n    return ctx.step.run("count", lambda: 1)'),
        10,
        "also used on line 9",
    ),
    "one id twice, once in a function it calls": (
        step('other(ctx.step)\n    return ctx.step.run("count", lambda: 1)')
        + 'def other(step: inngest.StepSync) -> None:\n    step.run("count", print)\n',
        12,
        "also used on line 10",
    ),
    "a step handed on": (step("return list(map(ctx.step.run, 'ab', [print] * 2))"), 9, "passed on"),
    "the AI gateway": (step('return ctx.step.ai.infer("ask", adapter=None, body={})'), 9, "ai.infer"),
    "swallows interrupts": (
        step('try:\n        return ctx.step.run("a", lambda: 1)\n    except:\n        return 0'),
        11,
        "never finish",
    ),
    "waits undeclared": (
        step('ctx.step.wait_for_event("w", event="text/read", timeout=1000)\n    return 1'),
        9,
        "waits for text/read",
    ),
    "a notice between steps": (
        allowed(and_listening('"notify": ["ops"]'), imports="client, notify").replace(
            "    return", '    notify("ops", "hello")\n    return'
        ),
        9,
        "outside of a step",
    ),
    # What the manifest does not allow.
    "http without hosts": (
        allowed(LISTENING, 'def f() -> None:\n    http.get("http://a.example/x")\n', "client, http"),
        11,
        "skills.kit.http",
    ),
    "http elsewhere": (
        allowed(
            and_listening('"hosts": ["a.example"]'),
            'def f() -> None:\n    http.get("http://b.example/x")\n',
            "client, http",
        ),
        11,
        "b.example",
    ),
    "http elsewhere in an f-string": (
        allowed(
            and_listening('"hosts": ["a.example"]'),
            'def f(x: str) -> None:\n    http.get(f"http://b.example/{x}")\n',
            "client, http",
        ),
        11,
        "b.example",
    ),
    "a model without a budget": (
        allowed(LISTENING, 'def f() -> object:\n    return llm("hello")\n', "client, llm"),
        11,
        "skills.kit.llm",
    ),
    "an undeclared channel": (
        allowed(and_listening('"notify": ["ops"]'), 'def f() -> None:\n    notify("all", "x")\n', "client, notify"),
        11,
        "no channel all",
    ),
    "an undeclared secret": (
        allowed(
            and_listening('"hosts": ["a.example"], "secrets": {"A": "a.example"}'),
            'def f() -> object:\n    return secrets["B"]\n',
            "client, secrets",
        ),
        11,
        "no secret B",
    ),
    "memory unasked": (
        allowed(LISTENING, 'def f() -> object:\n    return memory.search("x")\n', "client, memory"),
        11,
        "skills.kit.memory",
    ),
    "the agent unasked": (
        allowed(LISTENING, 'def f() -> object:\n    return ask_agent("x")\n', "client, ask_agent"),
        11,
        "skills.kit.ask_agent",
    ),
    "sends undeclared": (
        step('ctx.step.send_event("send", inngest.Event(name="text/counted"))\n    return 1'),
        9,
        "sends text/counted",
    ),
    "sends as the core in code": (
        step('ctx.step.send_event("send", inngest.Event(name="turn/requested"))\n    return 1'),
        9,
        "may not send it",
    ),
    "invokes undeclared": (
        step('return ctx.step.invoke_by_id("i", app_id="loopwright", function_id="run-turn")'),
        9,
        "invokes loopwright/run-turn",
    ),
    "invokes what is computed": (
        step('return ctx.step.invoke_by_id("i", app_id=str(ctx.run_id), function_id="x")'),
        9,
        "computed",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_named_with_its_line_and_a_fix(name: str) -> None:
    text, line, reason = BROKEN[name]
    found = problems_of(text)
    assert any(reason in one.reason and one.line == line for one in found), found
    assert all(one.fix for one in found)


def test_everything_wrong_is_told_at_once() -> None:
    text = step('return ctx.step.run(f"{ctx.run_id}", lambda: eval("1"))').replace("def count", "async def count")
    reasons = " ".join(one.reason for one in problems_of("import os\n" + text))
    assert all(word in reasons for word in ("import os", "async", "computed", "eval"))


def test_a_name_that_another_file_has_is_refused_with_its_path() -> None:
    other = Path("/somewhere/words.py")
    assert [str(other) in one.reason for one in problems_of(GOOD, others={"words": other})] == [True]


def test_ids_that_an_engine_would_take_for_each_other_are_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "words-all.py"
    theirs.write_text(GOOD)
    ours = GOOD.replace('fn_id="count"', 'fn_id="all-count"')
    found = problems_of(ours, others={"words-all": theirs})
    assert [(one.line, str(theirs) in one.reason) for one in found] == [(7, True)]
    assert problems_of(GOOD, others={"words-all": theirs}) == []


def test_a_stem_is_a_plain_name() -> None:
    assert problems_of(GOOD, stem="../words") != []


_HEAD = 'MANIFEST = {"title": "a", "purpose": "b"}\nimport inngest\nfrom skills.kit import client\n'
LARGE = {
    "long chains": _HEAD + ("x = inngest" + ".b" * 900 + "\n") * 130,
    "calls of calls": _HEAD + ("x = inngest" + "()" * 900 + "\n") * 130,
    "many tries": _HEAD + "def f(ctx):\n" + " try: ctx.step.run('a', f)\n except: pass\n" * 5000,
    "a step that is handed on and on": _HEAD
    + "".join(f"def g{n}(s{n}): g{n + 1}(s{n})\n" for n in range(3500))
    + "def f(ctx): g0(ctx.step)\n",
    "one type of many values": _HEAD + "T = int\n" * 1500 + "".join(f"def f{n}(a: T): ...\n" for n in range(1500)),
    "functions that name each other": _HEAD
    + "".join(f"@client.create_function(fn_id='f{n}')\ndef f{n}(ctx): f{n - 1}\n" for n in range(3000)),
    "many schedules": _HEAD
    + "@client.create_function(fn_id='f', trigger=["
    + "inngest.TriggerCron(cron='0 0 29 2 *'),\n" * 4000
    + "])\ndef f(ctx): pass\n",
    "a long schedule": GOOD.replace("[]", "").replace(
        'TriggerEvent(event="text/written")', 'TriggerCron(cron="' + "1," * 100_000 + '1 0 1 1 *")'
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_takes_no_minutes(name: str) -> None:
    began = time.process_time()
    assert problems_of(LARGE[name]) != []
    assert time.process_time() - began < 10


def test_a_problem_is_one_short_line() -> None:
    found = check_source(GOOD.replace("text/written", "x\\n" + "y" * 10_000).encode(), "words", {})
    assert found
    assert all(len(one.reason) <= 500 and one.reason.isprintable() for one in found)


@pytest.mark.parametrize(
    "text",
    [
        allowed('{"events": {"listen": ["text/written", "inngest/function.failed"]}}'),
        allowed('{"events": {"listen": ["text/written"]}}', 'X = inngest.Event(name="skill/quarantined")\n'),
        GOOD.replace("text/written", "message/received"),
        GOOD.replace("retries=2", 'concurrency=[inngest.Concurrency(limit=1, scope="account")]'),
    ],
)
def test_what_reaches_for_something_of_others_is_told_from_what_is_only_wrong(text: str) -> None:
    assert any(isinstance(one, Overreach) for one in check_source(text.encode(), "words", {}))
    wrong = GOOD.replace("text/written", "no name")
    assert not any(isinstance(one, Overreach) for one in problems_of(wrong))
