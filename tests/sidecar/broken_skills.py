"""Skill files that must not serve, each broken in a way of its own; `{turn}` makes each save another one.

`test_under_load.py` adds the one way that takes two files: a stem that is taken.
"""

from __future__ import annotations

_HEAD = '''"""Broken. {turn}"""
import inngest
from skills.kit import client

MANIFEST = {{"title": "B", "purpose": "b", "permissions": {{"events": {{"listen": ["b/asked"]}}}}}}
'''
_FUNCTION = """
@client.create_function(fn_id="{fn}", trigger=inngest.TriggerEvent(event="b/asked"))
def {name}(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("{step}", lambda: {{turn}})
"""


def _function(fn: str = "work", name: str = "work", step: str = "only") -> str:
    return _FUNCTION.format(fn=fn, name=name, step=step).replace("{{turn}}", "{turn}")


_GOOD = _HEAD + _function()

_BY_EVENT = 'inngest.TriggerEvent(event="b/asked")'
_TOO_LONG = 300_000

BROKEN = {
    "no syntax": "def broken(: # {turn}\n",
    "no skill": "# {turn}\nx = 1\n",
    "no module": _GOOD + "\nimport no_such_module\n",
    "raises": _GOOD + "\n1 / 0\n",
    "spins": _GOOD + "\nwhile True:\n    pass\n",
    "sleeps": _GOOD + "\nimport time\ntime.sleep(600)\n",
    "exits": _GOOD + "\nimport sys\nsys.exit(3)\n",
    "dies": _GOOD + "\nimport os\nos._exit(3)\n",
    "forks": _GOOD + "\nimport os\nos.fork()\n",
    "forks into a session of its own": _GOOD
    + "\nimport os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n",
    "crashes": _GOOD + "\nimport ctypes\nctypes.string_at(0)\n",
    "an id twice": _GOOD + _function(name="again"),
    "an id of another skill's function": _HEAD + _function(fn="more-hello"),
    "async": _GOOD.replace("def work", "async def work"),
    "no schedule": _GOOD.replace(_BY_EVENT, 'inngest.TriggerCron(cron="at some time")'),
    "a schedule that only the engine refuses": _GOOD.replace(
        _BY_EVENT, 'inngest.TriggerCron(cron="0 3 * * *"), rate_limit=inngest.RateLimit(limit=1, period=172_800_000)'
    ),
    "another's event": _GOOD.replace(_BY_EVENT, 'inngest.TriggerEvent(event="inngest/function.failed")'),
    "a computed step": _GOOD.replace('ctx.step.run("only"', "ctx.step.run(str(VALUE)"),
    "an unknown permission": _GOOD.replace('"permissions": {{', '"permissions": {{"root": True, '),
    "a computed manifest": _GOOD.replace("MANIFEST = {{", "MANIFEST = dict({{").replace("}}}}}}\n", "}}}}}})\n", 1),
    "no text": "\x00\x01 {turn}\n",
    "too long": _GOOD + "# " + "x" * _TOO_LONG + "\n",
}
"""By what is wrong with them."""
OF_ANOTHER = "an id of another skill's function"
"""Wrong in a skill `x` beside which there is a skill `x-more` with a function `hello`."""
