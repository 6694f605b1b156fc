"""What a skill answers the engine does no more than its manifest allows, whoever wrote the answer."""

from __future__ import annotations

import json

import pytest

from core.errors import UnavailableError
from sidecar.protocol.replies import EngineReply
from tests.support.jail_children import JailChildren


def answer(prison: JailChildren, body: str) -> EngineReply:
    prison.refused.clear()
    return prison.reply(body)


def is_refused(prison: JailChildren, reply: EngineReply, what: str, detail: str) -> None:
    """It is an error that is not tried again, it names the thing, and it is on record."""
    assert (reply.status, reply.headers["x-inngest-no-retry"]) == (500, "true")
    assert detail in json.loads(reply.body)["message"]
    assert [(kind, detail in said) for kind, said in prison.refused] == [(what, True)]


def test_the_ai_gateway_is_refused(prison: JailChildren) -> None:
    body = """
from inngest.experimental import ai
adapter = ai.openai.Adapter(auth_key="key", model="m")
return ctx.step.ai.infer("ask", adapter=adapter, body={})
"""
    is_refused(prison, answer(prison, body), "gateway", "AIGateway")


def test_a_wait_for_an_event_it_does_not_listen_to_is_refused(prison: JailChildren) -> None:
    reply = answer(prison, 'ctx.step.wait_for_event("wait", event="card/answered", timeout=60_000)')
    is_refused(prison, reply, "wait", "card/answered")


@pytest.mark.parametrize("target", ["skill-other/secret", "loopwright/generate", "skill-subject2/main"])
def test_an_invocation_of_a_function_it_does_not_name_is_refused(prison: JailChildren, target: str) -> None:
    app, function = target.split("/")
    reply = answer(prison, f'ctx.step.invoke_by_id("call", app_id={app!r}, function_id={function!r})')
    is_refused(prison, reply, "invoke", f"{app}-{function}")


@pytest.mark.boundary(64)
def test_an_invocation_that_was_not_granted_is_refused(prison: JailChildren) -> None:
    """Given a version that serves again after its grants were forgotten, its manifest alone gives it nothing."""
    prison.withdrawn.add("invoke:skill-other/work")
    try:
        reply = answer(prison, 'ctx.step.invoke_by_id("call", app_id="skill-other", function_id="work")')
    finally:
        prison.withdrawn.clear()
    is_refused(prison, reply, "invoke", "skill-other-work, which has not been granted")


def test_what_is_declared_passes(prison: JailChildren) -> None:
    body = """
import datetime
event = lambda: ctx.step.wait_for_event("wait", event="door/opened", if_exp="async.data.a == 1", timeout=60_000)
other = lambda: ctx.step.invoke_by_id("call", app_id="skill-other", function_id="work", data={"a": 1, "_inngest": 2})
own = lambda: ctx.step.invoke("own", function=main, data={"b": 2}, timeout=60_000)
nap = lambda: ctx.step.sleep_until("nap", datetime.datetime(2030, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc))
ctx.group.parallel((event, other, own, nap, lambda: ctx.step.run("plan", print)))
"""
    reply = answer(prison, body)
    told = {op["displayName"]: op for op in json.loads(reply.body)}
    assert (reply.status, prison.refused) == (206, [])
    assert (told["wait"]["op"], told["wait"]["name"]) == ("WaitForEvent", "door/opened")
    assert told["wait"]["opts"] == {"if": "async.data.a == 1", "timeout": "1m"}
    assert told["call"]["opts"]["function_id"] == "skill-other-work"
    assert told["call"]["opts"]["payload"] == {"data": {"a": 1}, "v": None}
    assert (told["own"]["opts"]["function_id"], told["own"]["opts"]["timeout"]) == ("skill-subject-main", "1m")
    assert (told["nap"]["op"], told["nap"]["name"]) == ("Sleep", "2030-01-02T03:04:05.000Z")
    assert (told["plan"]["op"], "data" in told["plan"]) == ("StepPlanned", False)


FORGE = """
import os, socket, stat, struct
def send(status, headers, body):
    import json
    head = json.dumps({"status": status, "headers": headers}).encode()
    for fd in range(3, 100):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, struct.pack("!II", len(head), len(body)) + head + body)
        except OSError:
            pass
    os._exit(0)
"""
ID = "0" * 40
NESTED = "event.data.l.all(a, event.data.l.all(b, a != b))"


def wait(**opts: object) -> dict[str, object]:
    return {"op": "WaitForEvent", "id": ID, "displayName": "a", "name": "door/opened", "opts": {"timeout": "1m"} | opts}


@pytest.mark.parametrize(
    ("status", "said", "what"),
    [
        (206, {"op": "AIGateway", "id": ID, "displayName": "a", "opts": {"url": "http://x"}}, "gateway"),
        (206, {"op": "WaitForSignal", "id": ID, "displayName": "a", "opts": {"signal": "s"}}, "op"),
        (206, {"op": "RunComplete", "id": ID, "displayName": "a", "data": 1}, "op"),
        (206, {"op": "StepRun", "id": ID, "displayName": "a", "data": 1, "extra": 1}, "op"),
        (206, {"op": "StepRun", "id": "../..", "displayName": "a", "data": 1}, "op"),
        (206, {"op": ["StepRun"], "id": ID, "displayName": "a"}, "op"),
        (206, {"op": "Sleep", "id": ID, "displayName": "a", "name": "never"}, "op"),
        (
            206,
            {
                "op": "WaitForEvent",
                "id": ID,
                "displayName": "a",
                "name": "door/opened",
                "opts": {"timeout": "1m", "event": "x"},
            },
            "op",
        ),
        (206, {"op": "Sleep", "id": ID, "displayName": "a", "name": "9999-12-31T23:59:59-23:59"}, "op"),
        (206, {"op": "Sleep", "id": ID, "displayName": "a", "name": "0001-01-01T00:00:00+14:00"}, "op"),
        (206, wait(timeout="9" * 31 + "w"), "op"),
        (206, wait(timeout="soon"), "op"),
        (206, wait(**{"if": NESTED}), "op"),
        (206, wait(**{"if": "secrets.key == 1"}), "op"),
        (201, {"status": 206, "headers": {}, "body": [{"op": "AIGateway", "id": ID}]}, "op"),
        (302, {}, "op"),
    ],
)
def test_a_forged_answer_is_refused(prison: JailChildren, status: int, said: object, what: str) -> None:
    told = json.dumps([said] if status == 206 else said)
    reply = answer(prison, FORGE + f"send({status}, {{}}, {told!r}.encode())")
    assert (reply.status, reply.headers["x-inngest-no-retry"]) == (500, "true")
    assert [kind for kind, _ in prison.refused] == [what]


def test_headers_are_ours(prison: JailChildren) -> None:
    forged = {"x-inngest-signature": "t=1&s=2", "set-cookie": "a=b", "location": "http://x", "x-inngest-sdk": "mine"}
    forged |= {"x-inngest-no-retry": "true", "retry-after": "1\\r\\nx: y", "server-timing": "a"}
    reply = answer(prison, FORGE + f"send(500, {forged!r}, b'{{}}')")
    assert set(reply.headers) == {"content-type", "x-inngest-sdk", "x-inngest-req-version", "x-inngest-no-retry"}
    assert reply.headers["x-inngest-sdk"].startswith("inngest-py:")


def test_expressions_without_end_are_refused_unread(prison: JailChildren) -> None:
    reply = answer(
        prison,
        FORGE
        + f"""
ops = []
for n in range(900):
    text = f"[{{n}}," + ",".join(["1"] * 450) + "] == 1"
    ops.append({wait()!r} | {{"id": str(n), "opts": {{"timeout": "1m", "if": text}}}})
import json
send(206, {{}}, json.dumps(ops).encode())
""",
    )
    is_refused(prison, reply, "op", "more than 10000 characters")


@pytest.mark.parametrize("later", ["1e308", "-5", "nan", "1 Jan 99999999999999 00:00:00", "Mon", "9" * 40])
def test_an_odd_time_to_try_again_is_forgotten(prison: JailChildren, later: str) -> None:
    assert "retry-after" not in answer(prison, FORGE + f"send(500, {{'retry-after': {later!r}}}, b'{{}}')").headers


def test_a_time_to_try_again_is_passed_on(prison: JailChildren) -> None:
    body = "import datetime\nat = datetime.datetime(2030, 1, 2, tzinfo=datetime.timezone.utc)\n"
    reply = answer(prison, body + 'raise inngest.RetryAfterError("later", at)')
    assert reply.headers["retry-after"] == "2030-01-02T00:00:00.000Z"


NOISE = """
import os
for fd in range(3, 100):
    try:
        os.write(fd, b"GET / HTTP/1.1" * 9)
    except OSError:
        pass
os._exit(0)
"""
FORMLESS = {
    "a status that is none": FORGE + "send('a lot', {}, b'')",
    "headers that are none": FORGE + "send(200, {'a': {'b': 1}}, b'')",
    "another protocol": NOISE,
    "without end": "return 'x' * (20 * 1024 * 1024)",
}


@pytest.mark.parametrize("name", FORMLESS)
def test_an_answer_in_no_form_is_none(prison: JailChildren, name: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be used"):
        answer(prison, FORMLESS[name])


def test_a_status_that_is_none_is_refused(prison: JailChildren) -> None:
    reply = answer(prison, FORGE + "send(-5, {'a b': 'x'}, b'')")
    assert (reply.status, reply.headers["x-inngest-no-retry"]) == (500, "true")


def test_output_that_is_no_json_is_refused(prison: JailChildren) -> None:
    for said in (b"{", b"[" * 5000, b"NaN", b'{"a": Infinity}', b"1e999", b"1" * 400, '"wide"'.encode("utf-16")):
        for status, body in ((200, said), (206, b'[{"op":"StepRun","id":"a","displayName":"a","data":' + said + b"}]")):
            reply = answer(prison, FORGE + f"send({status}, {{}}, {body!r})")
            assert [kind for kind, _ in prison.refused] == ["op"], body
            assert reply.status == 500


def test_an_output_is_written_anew(prison: JailChildren) -> None:
    """Given an output that two readers may read differently, then both are told the one that was checked."""
    said = ' {"a": 1, "b": "é", "a": 2.50}\n'.encode()
    reply = answer(prison, FORGE + f"send(200, {{}}, {said!r})")
    assert (reply.status, reply.body, prison.refused) == (200, b'{"a":2.5,"b":"\\u00e9"}', [])


def test_an_error_in_another_encoding_is_still_told_in_ours(prison: JailChildren) -> None:
    said = json.dumps({"code": "odd", "name": "Odd", "message": "m"}).encode("utf-16")
    reply = answer(prison, FORGE + f"send(500, {{}}, {said!r})")
    assert reply.status == 500
    assert "answered 500" in json.loads(reply.body)["message"]
