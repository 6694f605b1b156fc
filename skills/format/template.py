"""The template of a new skill file."""

from __future__ import annotations

_TEMPLATE = '''"""Say in one line what this skill is for."""

import inngest

from skills.kit import client

MANIFEST = {
    "title": "@TITLE@",
    "purpose": "Say what it watches or does, for whom, and how often.",
    # What it may do; what is not named here is not allowed. The guide lists every entry.
    "permissions": {"events": {"listen": ["@STEM@/asked"], "send": []}},
}


def look() -> dict[str, object]:
    """The work of one step: it may run twice, and what it returns is remembered."""
    return {"seen": 0}


@client.create_function(
    fn_id="@ID@",
    trigger=[inngest.TriggerCron(cron="0 8 * * *"), inngest.TriggerEvent(event="@STEM@/asked")],
    retries=3,
)
def @NAME@(ctx: inngest.ContextSync) -> dict[str, object]:
    return ctx.step.run("look", look)
'''


def render_template(stem: str) -> str:
    """Return the text of a new skill file, which passes every check and needs no grant."""
    words = stem.replace("-", "_")
    return (
        _TEMPLATE.replace("@TITLE@", words.replace("_", " ").capitalize())
        .replace("@STEM@", stem)
        .replace("@ID@", words.replace("_", "-").strip("-").lower())
        .replace("@NAME@", f"run_{words}".lower())
    )
