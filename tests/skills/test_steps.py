"""Steps whose ids nobody could tell and steps where they do harm are refused; plain ones in other styles are not."""

from __future__ import annotations

import pytest

from tests.skills.test_checks import problems_of

HEAD = """import contextlib
import functools
import operator

import inngest

from skills.kit import claim, client, http, memory, notify, release, runs

MANIFEST = {
    "title": "T",
    "purpose": "p",
    "permissions": {
        "hosts": ["a.example"], "notify": ["ops"], "memory": "read", "events": {"listen": ["a/b"], "send": []}
    },
}
"""
FUNCTION = """
@client.create_function(fn_id="f", trigger=inngest.TriggerEvent(event="a/b"))
def f(ctx: inngest.ContextSync) -> object:
"""


def file(body: str, extra: str = "") -> str:
    """A skill whose handler has this body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}{extra}{FUNCTION}{lines}\n    return 1\n"


HANDED = {
    "to a parameter": ("go(ctx.step, 3)", 'def go(s, n):\n    s.run(f"x-{n}", print)\n'),
    "to a named parameter": ("go(s=ctx.step, n=3)", 'def go(*, s, n):\n    s.run(f"x-{n}", print)\n'),
    "on and on": (
        "go(ctx.step, 3)",
        'def go(s, n):\n    t = s\n    on(n, t)\n\ndef on(n, u):\n    u.run(f"x-{n}", print)\n',
    ),
    "by getattr": ('getattr(ctx.step, "run")(f"x-{ctx.run_id}", print)', ""),
    "by getattr of the context": ('getattr(ctx, "step").run(f"x-{ctx.run_id}", print)', ""),
    "by a computed getattr": ('getattr(ctx, "st" + "ep").run(f"x-{ctx.run_id}", print)', ""),
    "by methodcaller": ('operator.methodcaller("run", f"x-{ctx.run_id}", print)(ctx.step)', ""),
    "by attrgetter": ('operator.attrgetter("step.run")(ctx)(f"x-{ctx.run_id}", print)', ""),
    "by :=": ('(s := ctx.step).run(f"x-{ctx.run_id}", print)', ""),
    "by := and later": ('if s := ctx.step:\n    s.run(f"x-{ctx.run_id}", print)', ""),
    "in a pair": ('s, t = ctx.step, 1\ns.run(f"x-{t}", print)', ""),
    "in a list": ('[ctx.step][0].run(f"x-{ctx.run_id}", print)', ""),
    "by a loop": ('for s in (ctx.step,):\n    s.run(f"x-{ctx.run_id}", print)', ""),
    "by with": ('with contextlib.nullcontext(ctx.step) as s:\n    s.run(f"x-{ctx.run_id}", print)', ""),
    "by a pattern": ('match ctx:\n    case inngest.ContextSync(step=s):\n        s.run(f"x-{ctx.run_id}", print)', ""),
    "to a lambda": ('(lambda s: s.run(f"x-{ctx.run_id}", print))(ctx.step)', ""),
    "by a choice": ('s = ctx.step if ctx else ctx.step\ns.run(f"x-{ctx.run_id}", print)', ""),
    "to an object": (
        "Helper(ctx.step).go()",
        "class Helper:\n    def __init__(self, s):\n        self.s = s\n\n"
        '    def go(self):\n        self.s.run(f"x-{1}", f)\n',
    ),
    "by a context of another name": (
        'go(ctx)\nctx.step.run("a", print)',
        'def go(c: inngest.ContextSync):\n    s = c.step\n    s.run(f"x-{c.run_id}", print)\n',
    ),
}


@pytest.mark.parametrize("way", HANDED)
def test_a_step_that_goes_another_way_keeps_no_computed_id(way: str) -> None:
    found = [one.reason for one in problems_of(file(*HANDED[way]))]
    assert any("computed" in one or "passed on" in one or "is read from its context" in one for one in found), found


CAUGHT = "never finish"
BETWEEN = "outside of a step"
WITHIN = "contains another step"
HARMFUL = {
    "caught among others": (
        'try:\n    ctx.step.run("a", print)\nexcept (ValueError, BaseException):\n    pass',
        "",
        CAUGHT,
    ),
    "caught by another name": (
        'try:\n    ctx.step.run("a", print)\nexcept ALL:\n    pass',
        "ALL = (ValueError, BaseException)\n",
        CAUGHT,
    ),
    "suppressed": ('with contextlib.suppress(BaseException):\n    ctx.step.run("a", print)', "", CAUGHT),
    "left in the end": ('try:\n    ctx.step.run("a", print)\nfinally:\n    return 2', "", CAUGHT),
    "caught around a function": (
        "try:\n    go(ctx)\nexcept:\n    pass",
        'def go(ctx):\n    ctx.step.run("a", print)\n',
        CAUGHT,
    ),
    "a step in a step": ('ctx.step.run("a", lambda: ctx.step.run("b", print))', "", WITHIN),
    "a step in a partial": (
        'ctx.step.run("a", functools.partial(go, ctx))',
        'def go(ctx):\n    ctx.step.run("b", print)\n',
        WITHIN,
    ),
    "a step in a step's function": (
        'ctx.step.run("a", go, ctx)',
        'def go(ctx):\n    return on(ctx)\n\ndef on(ctx):\n    return ctx.step.sleep("b", 1000)\n',
        WITHIN,
    ),
    "a notice of a function": ('go()\nctx.step.run("a", print)', 'def go():\n    notify("ops", "x")\n', BETWEEN),
    "a release in the end": (
        'try:\n    ctx.step.run("a", print)\nfinally:\n    release("key")',
        "",
        BETWEEN,
    ),
    "what was remembered": ('known = memory.search("x")\nctx.step.run("a", print)', "", BETWEEN),
    "what happened before": ('known = runs(3)\nctx.step.run("a", print)', "", BETWEEN),
    "one id in a method and beside it": (
        'Helper().go(ctx)\nctx.step.run("a", print)',
        'class Helper:\n    def go(self, ctx):\n        ctx.step.run("a", print)\n',
        "also used on line",
    ),
}


@pytest.mark.parametrize("way", HARMFUL)
def test_what_harms_a_run_is_told_before_there_is_one(way: str) -> None:
    body, extra, reason = HARMFUL[way]
    found = [one.reason for one in problems_of(file(body, extra))]
    assert any(reason in one for one in found), found


HONEST = {
    "a step by a shorter name": ('step = ctx.step\nstep.run("a", print)\nstep.sleep("b", 1000)', ""),
    "a step handed to a function": ("go(ctx.step, 3)", 'def go(s, n):\n    s.run("a", print, n)\n'),
    "a context handed to a function": ("go(3, ctx)", 'def go(n, ctx):\n    ctx.step.run("a", print, n)\n'),
    "a context handed to an object": (
        "Helper(ctx).go()",
        "class Helper:\n    def __init__(self, ctx):\n        self.ctx = ctx\n\n    def go(self):\n"
        '        self.ctx.step.run("a", print)\n',
    ),
    "a step that is a number": (
        'count(step=3)\nctx.step.run("a", print)',
        "def count(step: int) -> list[int]:\n    return [step, *range(0, 10, step)]\n",
    ),
    "the step of something else": ('print(slice(0, 3, 1).step)\nctx.step.run("a", print)', ""),
    "one name, two functions": (
        'def store():\n    return 1\n\nctx.step.run("a", store)',
        'def other(ctx):\n    def store():\n        return ctx.step.run("b", print)\n\n    return store()\n',
    ),
    "a failed step": (
        'try:\n    ctx.step.run("a", print)\nexcept (inngest.StepError, ValueError) as error:\n    print(error)\n'
        'finally:\n    print("tried")',
        "",
    ),
    "suppressed failures": ('with contextlib.suppress(inngest.StepError):\n    ctx.step.run("a", print)', ""),
    "everything caught in a step": (
        'ctx.step.run("a", careful)',
        "def careful():\n    try:\n        return http.get('http://a.example/')\n    except BaseException:\n"
        "        return None\n    finally:\n        notify('ops', 'x')\n",
    ),
    "effects in functions that steps run": (
        'if ctx.step.run("a", lambda: claim("key")):\n    ctx.step.run("b", functools.partial(tell, "x"))\n'
        '    ctx.step.run("c", lambda: release("key"))',
        "def tell(text):\n    return notify('ops', text)\n",
    ),
    "side by side": (
        'ctx.group.parallel(tuple(functools.partial(ctx.step.run, "a", print, n) for n in range(3)))\n'
        'ctx.group.parallel((lambda: ctx.step.run("b", print), lambda: ctx.step.sleep("c", 1000)))',
        "",
    ),
    "a step after another, by a function": (
        'ctx.step.run("b", print, go(ctx))',
        'def go(ctx):\n    return ctx.step.run("a", int)\n',
    ),
    "a step after another by its value": ('ctx.step.run("b", print, ctx.step.run("a", int))', ""),
}


@pytest.mark.parametrize("way", HONEST)
def test_plain_steps_in_another_style_are_taken(way: str) -> None:
    assert problems_of(file(*HONEST[way])) == []
