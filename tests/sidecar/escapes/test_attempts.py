"""What a skill plainly tries is on record, though the kernel tells nobody what it refuses."""

from __future__ import annotations

import pytest

from skills.format.problem import RefusedSkillError
from tests.support.jail_children import JailChildren, subject

pytestmark = pytest.mark.long

LOOKS = "\nimport glob\nglob.glob('/home/*')\n"

PLAIN = {
    "a file": ("open('/root/.ssh/id_rsa')", "read /root/.ssh/id_rsa"),
    "the environment of another": ("open('/proc/1/environ', 'rb')", "read /proc/1/environ"),
    "a folder": ("os.listdir('/home')", "look into /home"),
    "a change": ("os.remove('/app/skills/__init__.py')", "change /app/skills/__init__.py"),
    "its own program": ("open(os.__file__, 'w')", "write to "),
    "a file by descriptor": ("os.open('/etc/shadow', os.O_RDONLY)", "read /etc/shadow"),
    "another machine": ("socket.create_connection(('203.0.113.1', 80))", "203.0.113.1"),
    "a socket": ("socket.socket(socket.AF_INET)", "open a socket of the family 2"),
    "another's socket": ("socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')", "reach /var/run/docker.sock"),
    "a name": ("socket.getaddrinfo('metrics.example', 80)", "look up metrics.example"),
    "a signal": ("os.kill(1, 0)", "send the signal 0 to 1"),
    "a program": ("subprocess.run(['id'])", "run id"),
    "a process": ("os.fork() or os._exit(0)", "start a process"),
    "a mount": ("ctypes.CDLL(None).mount(b'a', b'/tmp', b'tmpfs', 0, None)", "call the library's mount"),
    "a trace": ("ctypes.CDLL(None).ptrace(16, 1, None, None)", "call the library's ptrace"),
    "another's limits": ("resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))", "limit the process 1"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_attempt_is_told(prison: JailChildren, name: str) -> None:
    act, said = PLAIN[name]
    prison.tried.clear()
    prison.output(
        f"import ctypes, os, resource, socket, subprocess\ntry:\n    {act}\nexcept OSError:\n    pass\nreturn 1"
    )
    assert any(said in one for one in prison.tried), prison.tried


def test_honest_work_is_no_attempt(prison: JailChildren) -> None:
    """Given a run that uses its own folder, the library and its steps, nothing is told of it."""
    prison.tried.clear()
    body = """
import datetime, json, tempfile, traceback, zoneinfo
with open("notes", "w") as file:
    file.write(json.dumps({"at": str(datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Paris")))}))
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/a", "w").close()
try:
    1 / 0
except ZeroDivisionError:
    traceback.format_exc()
return ctx.step.run("work", lambda: open("notes").read() != "")
"""
    assert prison.reply(body).status == 206
    assert prison.tried == []


def test_what_is_told_is_bounded(prison: JailChildren) -> None:
    prison.tried.clear()
    body = """
for number in range(1000):
    try:
        open("/etc/" + str(number) + "x" * 3000)
    except OSError:
        pass
return 1
"""
    assert prison.output(body) == 1
    assert len(prison.tried) == 20
    assert max(len(one) for one in prison.tried) == 200


def test_what_is_tried_while_the_file_is_loaded_is_told_too(prison: JailChildren) -> None:
    child = prison.boot(subject("return 1") + LOOKS)
    assert list(child.tried) == ["look into /home"]
    assert list(prison.boot(subject("return 2")).tried) == []


def test_a_run_is_not_told_to_have_tried_what_loading_did(prison: JailChildren) -> None:
    child = prison.boot(subject("return 1") + LOOKS)
    prison.tried.clear()
    assert prison.run(child).body == b"1"
    assert prison.tried == []


def test_a_file_that_does_not_load_has_tried_what_it_tried(prison: JailChildren) -> None:
    with pytest.raises(RefusedSkillError) as refused:
        prison.boot(subject("return 1") + LOOKS + "raise ValueError\n")
    assert list(refused.value.tried) == ["look into /home"]
