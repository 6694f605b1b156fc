"""What a skill file imports.

    import inngest
    from skills.kit import client, http, llm, notify, secrets

    @client.create_function(fn_id="watch", trigger=inngest.TriggerCron(cron="*/30 * * * *"), retries=3)
    def watch(ctx: inngest.ContextSync) -> str: ...

| name | what it does | what the manifest must name |
|---|---|---|
| `client` | the Inngest client of the skill's own app | events it sends with `ctx.step.send_event` |
| `llm` | asks the model | `model_budget_per_day` |
| `notify` | tells a channel, and can ask people back | `notify` |
| `http` | talks to other machines | `hosts` |
| `secrets` | stands for a secret in a header | `secrets` |
| `memory` | searches what the agent remembers | `memory` |
| `ask_agent` | gives the agent work | `ask_agent` |
| `runs` | the skill's own runs | nothing |
| `claim`, `release` | one at a time, by a row | nothing |

An event goes out once for each `id` that it was given, in all of the skill's runs; without one, once for each run, name
and data: give those an id that are meant to go out twice.

Call each of them inside `ctx.step.run(…)`: what a step answered is remembered, so it is not done again when the
function goes on. Each goes through the broker, which knows the skill, checks what was granted, and raises `Refused`
(asking again is no use), `Unavailable` (a retry may help) or, of the latter kind, `LimitReached` (a person is asked).

A skill may send 3000 events and 32 MiB of requests a minute, tell 60 notices an hour, give the agent 20 pieces of work
a day, and hold 500 claims at a time.

A skill's process has no network, no keys and no files but its own: these names are its only ways out, and they work
only while Loopwright runs the skill.
"""

from __future__ import annotations

import inngest

from skills.kit import http, memory
from skills.kit.agent import ask_agent
from skills.kit.claims import claim, release
from skills.kit.door import Outside
from skills.kit.errors import LimitReached, Refused, Unavailable
from skills.kit.history import Run, runs
from skills.kit.model import llm
from skills.kit.notices import notify
from skills.kit.secret import Secret, secrets

client: inngest.Inngest
"""The Inngest client of the skill's own app, `skill-<the file's name>`; Loopwright makes it before it runs the file."""

__all__ = [
    "LimitReached",
    "Refused",
    "Run",
    "Secret",
    "Unavailable",
    "ask_agent",
    "claim",
    "client",
    "http",
    "llm",
    "memory",
    "notify",
    "release",
    "runs",
    "secrets",
]


def __getattr__(name: str) -> object:
    if name == "client":
        return Outside("client")
    raise AttributeError(f"skills.kit has no {name!r}; it has {', '.join(__all__)}")
