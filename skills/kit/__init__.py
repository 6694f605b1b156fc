"""The kit: everything a skill file imports from Loopwright.

    import inngest
    from skills.kit import client, http, llm, notify, secrets

    @client.create_function(fn_id="watch", trigger=inngest.TriggerCron(cron="*/30 * * * *"), retries=3)
    def watch(ctx: inngest.ContextSync) -> str: ...

| name | what it does | what the manifest must name |
|---|---|---|
| `client` | the Inngest client of the skill's own app | events it sends with `ctx.step.send_event` |
| `llm` | asks the model | `model_budget_per_day` |
| `notify` | writes to a channel, and can ask people a question | `notify` |
| `http` | talks to other machines | `hosts` |
| `secrets` | puts a secret into a header, unseen by the skill | `secrets` |
| `memory` | searches what the agent remembers | `memory` |
| `ask_agent` | gives the agent work | `ask_agent` |
| `runs` | the skill's own runs | nothing |
| `claim`, `release` | lets one run at a time hold a key | nothing |

An event is sent once per `id`, across all runs of the skill; without an id, once per run, name and data. Give events an
id if equal ones are to be sent twice.

Call each of these inside `ctx.step.run(…)`: the result of a step is remembered, so it is not repeated when the function
continues. Each call goes through the broker, which checks the grants of the skill and raises `Refused` (a retry is no
use), `Unavailable` (a retry may help) or its subclass `LimitReached` (a person is asked to raise a limit).

A skill may send 3000 events and 32 MiB of requests a minute, 60 notices an hour and 20 messages to the agent a day, and
hold 500 claims at a time.

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
