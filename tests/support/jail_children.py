"""Children in the real jail, called as the engine would, without engine, checks or book."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidecar.child.limits import Limits
from sidecar.jail.isolation import Isolation
from sidecar.jail.jail import Jail
from sidecar.pool.child_process import ChildProcess, SkillCode
from sidecar.pool.spawner import ChildBroker, ClosedBroker, Spawner
from sidecar.protocol.registration import check_functions
from sidecar.protocol.replies import EngineReply, filter_reply
from skills.book import grants
from skills.format.manifest import SkillManifest, read_manifest

URL = "http://sidecar.example/api/inngest/subject"

HEAD = '''"""A subject."""
import inngest
from skills.kit import client

MANIFEST = {{"title": "Subject", "purpose": "tries things", "permissions": {permissions}}}

def subject(ctx):
{body}

main = client.create_function(fn_id="main", trigger=inngest.TriggerEvent(event="subject/asked"), retries=0)(subject)
'''


def subject(body: str, permissions: Mapping[str, Any] | None = None) -> str:
    """Return a skill file whose function `main` has this body; it listens to `subject/asked`."""
    told = {"events": {"listen": ["subject/asked"]}} | dict(permissions or {})
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return HEAD.format(permissions=told, body=lines)


WILLING = subject(
    """
scope = dict(globals())
exec(ctx.event.data["code"], scope)
return scope["act"](ctx)
""",
    {"events": {"listen": ["subject/asked", "door/opened"]}, "invoke": ["skill-other/work"]},
)
LOADING = """
from sidecar.child.ipc import ServeOrder
from sidecar.child.loader import load_skill, warm_client
source = {source!r}.encode()
order = ServeOrder(stem="subject", app_id="skill-subject", source=source, path="/subject.py", sha="0" * 64, broker="")
return load_skill(order, warm_client()).configurations
"""


@dataclass
class JailChildren:
    """Children of one spawner; `refused` is what their answers were refused for, `tried` what they were seen to try.

    Its skills were granted what they declare, but for what is `withdrawn`.
    """

    spawner: Spawner
    isolation: Isolation
    refused: list[tuple[str, str]] = field(default_factory=list)
    children: list[ChildProcess] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    withdrawn: set[str] = field(default_factory=set)
    _manifests: dict[int, SkillManifest] = field(default_factory=dict)
    _willing: ChildProcess | None = None

    def boot(self, source: str, stem: str = "subject") -> ChildProcess:
        data = source.encode()
        sha = hashlib.sha256(data).hexdigest()
        version = SkillCode(stem, sha, data, f"/skills/{stem}.py", f"sv_{stem}", read_manifest(data))
        child = self.spawner.boot(version)
        self.children.append(child)
        self._manifests[child.pid] = version.manifest
        return child

    def registered(self, source: str) -> list[dict[str, Any]]:
        """Load a file in the jail and return its registration; raises RefusedSkillError."""
        functions = self.output(LOADING.format(source=source))
        return check_functions(functions, "skill-subject", URL, read_manifest(source.encode()))

    def run(self, child: ChildProcess, fn: str = "main", *, seconds: float | None = None, **state: Any) -> EngineReply:
        """Make one call of the engine and return the answer that the engine would get."""
        response = child.call(
            "POST", *engine_request(fn, **state), {"content-type": "application/json"}, seconds=seconds
        )
        manifest = self._manifests[child.pid]
        self.tried += response.extensions["tried"]
        granted = frozenset(grants.wanted_permissions(manifest)) - self.withdrawn
        return filter_reply(
            response, manifest, child.own_functions, lambda: granted, lambda *told: self.refused.append(told)
        )

    def reply(self, body: str, *, seconds: float | None = None) -> EngineReply:
        """Return the answer of a function with this body, which may wait and invoke as `WILLING` says.

        One child answers all of these, each in a process of its own.
        """
        if self._willing is None or not self._willing.alive:
            self._willing = self.boot(WILLING)
        code = "def act(ctx):\n" + "\n".join(f"    {line}" for line in body.strip().splitlines())
        return self.run(self._willing, data={"code": code}, seconds=seconds)

    def output(self, body: str) -> Any:
        """Return the output of a function with this body."""
        reply = self.reply(body)
        assert reply.status == 200, reply
        return json.loads(reply.body)


def engine_request(fn: str, **state: Any) -> tuple[str, str, bytes]:
    """Return path, query and body of a call for a function of the file `subject`."""
    ctx = {"run_id": "run-1", "attempt": 0, "max_attempts": 1, "disable_immediate_execution": False}
    event = {"name": "subject/asked", "data": state.get("data", {}), "id": "event-1", "ts": 1}
    ctx |= {"stack": {"stack": [], "current": 0}, **state.get("ctx", {})}
    body = {"ctx": ctx, "event": event, "events": [event], "steps": state.get("steps", {}), "use_api": False}
    query = f"fnId=skill-subject-{fn}&stepId={state.get('step', 'step')}"
    return "/api/inngest/subject", query, json.dumps(body).encode()


@contextmanager
def jailed(
    folder: Path, isolation: Isolation, limits: Limits | None = None, broker: ChildBroker | None = None
) -> Iterator[JailChildren]:
    spawner = Spawner(Jail(folder / "run", isolation, limits), broker or ClosedBroker())
    found = JailChildren(spawner, isolation)
    try:
        yield found
    finally:
        for child in found.children:
            spawner.end(child)
        spawner.stop()
