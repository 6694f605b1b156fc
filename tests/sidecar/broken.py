"""Skill files that must not serve, each broken in a way of its own; `{turn}` makes each save another one."""

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

BROKEN = (
    "def broken(: # {turn}\n",
    "# {turn}\nx = 1\n",
    _GOOD + "\nimport no_such_module\n",
    _GOOD + "\n1 / 0\n",
    _GOOD + "\nwhile True:\n    pass\n",
    _GOOD + "\nimport sys\nsys.exit(3)\n",
    _GOOD + "\nimport os\nos._exit(3)\n",
    _GOOD + "\nimport os\nos.fork()\n",
    _GOOD + "\nimport ctypes\nctypes.string_at(0)\n",
    _GOOD + _function(name="again"),
    _GOOD.replace("def work", "async def work"),
    _GOOD.replace('inngest.TriggerEvent(event="b/asked")', 'inngest.TriggerCron(cron="at some time")'),
    _GOOD.replace('inngest.TriggerEvent(event="b/asked")', 'inngest.TriggerEvent(event="inngest/function.failed")'),
    _GOOD.replace('ctx.step.run("only"', "ctx.step.run(str(VALUE)"),
    _GOOD.replace('"permissions": {{', '"permissions": {{"root": True, '),
    _GOOD.replace("MANIFEST = {{", "MANIFEST = dict({{").replace("}}}}}}\n", "}}}}}})\n", 1),
    "\x00\x01 {turn}\n",
)
