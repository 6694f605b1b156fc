"""Skill files for tests: one good one, and ways to spoil it."""

from __future__ import annotations

GOOD = '''"""Counts words."""
import inngest
from skills.kit import client

MANIFEST = {"title": "Words", "purpose": "counts words", "permissions": {"events": {"listen": ["text/written"]}}}

@client.create_function(fn_id="count", trigger=inngest.TriggerEvent(event="text/written"), retries=2)
def count(ctx: inngest.ContextSync) -> int:
    return ctx.step.run("count", lambda: len(str(ctx.event.data["text"]).split()))
'''
"""Its last line, that with the step, is line 9; what is appended begins on line 10."""


def allowed(permissions: str, body: str = "", imports: str = "client") -> str:
    """The good file with these permissions, these imports from the kit, and more code at its end."""
    text = GOOD.replace('{"events": {"listen": ["text/written"]}}', permissions)
    return text.replace("import client", f"import {imports}") + body
