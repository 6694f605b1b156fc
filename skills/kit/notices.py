"""Telling people."""

from __future__ import annotations

from collections.abc import Sequence

from skills.kit.door import door


def notify(channel: str, text: str, *, key: str | None = None, ask: Sequence[str] = ()) -> None:
    """Tell a channel that the manifest names, such as `ops`.

        ctx.step.run("tell", lambda: notify("ops", f"{service} is slow", ask=("real", "false alarm")))

    It stands on the page, behind the skill's name, and goes to the channel's webhook where
    LOOPWRIGHT_NOTIFY_<CHANNEL> names one (Slack's incoming webhooks will do). `ask` adds a question to people: at most
    six short answers; which one they pick is kept as a fact of this run, and the weekly review judges the skill by it.

    It is told once for each `key`, in all of the skill's runs. Without a key, once for each run and text.
    """
    door.ask("notify", "/notify", {"channel": channel, "text": text, "key": key, "ask": list(ask)})
