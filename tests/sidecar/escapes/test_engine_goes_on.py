"""Whatever a skill answers, the engine goes on with everybody else's runs, and the skill's own run comes to an end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = pytest.mark.long

FORGE = """
def forge(status, headers, told):
    import json, os, stat, struct
    body = json.dumps(told).encode()
    head = json.dumps({"status": status, "headers": headers}).encode()
    for fd in range(3, 100):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, struct.pack("!II", len(head), len(body)) + head + body)
        except OSError:
            pass
    os._exit(0)
"""


def op(kind: str, **fields: object) -> str:
    return f"forge(206, {{}}, [{ {'op': kind, 'id': '0' * 40, 'displayName': 'a'} | fields!r}])"


def nested(depth: int) -> str:
    """Ten to the power of so many."""
    text = "true"
    for n in range(depth):
        text = f"[1,2,3,4,5,6,7,8,9,0].all(x{n},{text})"
    return text


HOSTILE = {
    "sleep-beyond-time": op("Sleep", name="9999-12-31T23:59:59-23:59"),
    "sleep-before-time": op("Sleep", name="0001-01-01T00:00:00+14:00"),
    "sleep-for-ever": op("Sleep", name="9999-12-31T23:59:59Z"),
    "wait-for-ever": op("WaitForEvent", name="{event}", opts={"timeout": "9" * 31 + "w"}),
    "wait-for-a-word": op("WaitForEvent", name="{event}", opts={"timeout": "soon"}),
    "invoke-for-ever": op(
        "InvokeFunction",
        opts={"function_id": "skill-{stem}-hello", "payload": {"data": {}}, "timeout": "9" * 31 + "w"},
    ),
    "wait-with-work": op("WaitForEvent", name="{event}", opts={"timeout": "30s", "if": nested(20)}),
    **{
        f"later-{n}": f"forge(500, {{'retry-after': {text!r}}}, {{'name': 'Odd', 'message': 'm'}})"
        for n, text in enumerate(
            ["1e308", "-1e308", "nan", "1 Jan 99999999999999 00:00:00", "1 Jan 2000 00:00:00 +99999999999999", "Mon"]
        )
    },
    "zero": "return {'a\\x00': 'b\\x00', 'half': '\\ud83d'}",
}


@pytest.fixture(scope="module")
def loose(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    with local_registry(any_engine, tmp_path_factory.mktemp("home")) as running:
        running.save("good", hello(7, "good/asked"))
        running.live("good", 1)
        yield running


@pytest.mark.parametrize("name", HOSTILE)
def test_others_go_on(loose: RunningSidecar, name: str) -> None:
    event = f"{name}/asked"
    act = HOSTILE[name].replace("{event}", event).replace("{stem}", name)
    source = hello(1, event).replace("retries=2", "retries=0") + FORGE
    loose.save(name, source.replace("    return ctx", f"    {act}\n    return ctx"))
    loose.live(name, 1)
    before = len(loose.runs("skill-good/hello"))

    loose.ask(event)
    until("its run", lambda: loose.runs(f"skill-{name}/hello"))
    if "wait" in name:
        loose.ask(event)
    loose.ask("good/asked")

    assert loose.outputs("skill-good/hello", before + 1) == [7] * (before + 1)
    if not name.startswith("invoke"):
        until("the end of its run", lambda: loose.runs(f"skill-{name}/hello")[0]["status"] in ("failed", "completed"))
