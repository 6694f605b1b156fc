"""Send notices to people."""

from __future__ import annotations

from collections.abc import Sequence

from skills.kit.door import door


def notify(channel: str, text: str, *, key: str | None = None, ask: Sequence[str] = ()) -> None:
    """Send a notice to a channel that the manifest names, such as `ops`.

        ctx.step.run("tell", lambda: notify("ops", f"{service} is slow", ask=("real", "false alarm")))

    It appears on the page with the skill's name, and goes to the channel's webhook if LOOPWRIGHT_NOTIFY_<CHANNEL> names
    one (Slack's incoming webhooks work). `ask` adds a question with at most six short answers; the one that people pick
    is stored as an outcome of this run, and the weekly review judges the skill by it.

    It is sent once per `key`, across all runs of the skill; without a key, once per run and text.
    """
    door.ask("notify", "/notify", {"channel": channel, "text": text, "key": key, "ask": list(ask)})
