"""A skill sees no file that is not its own, and changes none."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sidecar.jail.exposed_files import library_folders, system_paths
from sidecar.jail.isolation import Isolation
from tests.sidecar.escapes.conftest import LIMITS, PLANTED
from tests.support.jail_children import JailChildren, jailed

pytestmark = pytest.mark.long

READ = """
found = []
for path in {paths!r}:
    try:
        with open(path, "rb") as file:
            if file.read(1):
                found.append(path)
    except OSError:
        pass
return found
"""


def secrets(folder: Path) -> list[str]:
    """What a home holds, as the product leaves it: files that only their owner may read."""
    home = folder / "home"
    files = [home / "keys" / "signing", home / "loopwright.sqlite", home / "sidecar" / "sources" / "other.py"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("secret")
        file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    home.chmod(stat.S_IRWXU)
    return [str(file) for file in files]


def test_secrets_cannot_be_read(walled: JailChildren, tmp_path: Path) -> None:
    paths = ["/etc/shadow", "/etc/gshadow", "/proc/1/environ", "/proc/1/mem", *secrets(tmp_path)]
    assert walled.output(READ.format(paths=paths)) == []


def test_the_machines_own_files_are_not_there(sealed: JailChildren) -> None:
    paths = ["/etc/passwd", "/etc/hostname", "/proc/1/root/etc/passwd", str(Path(__file__).resolve())]
    paths += [str(Path(__file__).resolve().parents[3] / name) for name in ("app/__init__.py", "core/database.py")]
    assert sealed.output(READ.format(paths=paths)) == []


def test_the_root_holds_only_what_a_child_needs(sealed: JailChildren) -> None:
    seen = sealed.output(
        "import os\nreturn [os.listdir('/'), os.listdir('/run'), os.listdir('/app'), os.listdir('/tmp')]"
    )
    assert {"app", "dev", "proc", "run", "tmp", "usr"} <= set(seen[0])
    needed = {Path(path).parts[1] for path in (*library_folders(), *system_paths())}
    others = {"boot", "home", "mnt", "media", "opt", "sbin", "bin", "srv", "sys", "var"} - needed
    assert not others & set(seen[0])
    assert seen[1:] == [[], ["core", "sidecar", "skills"], []] or set(seen[2]) == {"core", "sidecar", "skills"}


def test_nothing_can_be_written_but_its_own_scratch(sealed: JailChildren) -> None:
    body = """
    import os
    written = []
    places = ["/", "/app", "/app/skills", "/app/sidecar/child", "/run", "/usr/lib", "/etc", "/dev", "/proc/sys/kernel"]
    for folder in [*places, os.path.dirname(os.__file__), os.path.dirname(inngest.__file__), "."]:
        try:
            with open(folder + "/mine", "w") as file:
                file.write("mine")
            written.append(folder)
        except OSError:
            pass
    return written
    """
    assert sealed.output("\n".join(line[4:] for line in body.splitlines())) == ["."]


def test_the_source_it_was_loaded_from_cannot_be_changed(walled: JailChildren, tmp_path: Path) -> None:
    snapshot = tmp_path / "subject.py"
    snapshot.write_text("the code")
    body = f"""
try:
    open({str(snapshot)!r}, "w").write("other code")
except OSError as error:
    return type(error).__name__
"""
    assert walled.output(body) in {"FileNotFoundError", "PermissionError"}
    assert snapshot.read_text() == "the code"


def test_mounts_and_users_cannot_be_changed(walled: JailChildren) -> None:
    body = """
import ctypes, os
libc = ctypes.CDLL(None)
done = []
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
    done.append("mount")
if libc.umount2(b"/app", 2) == 0 or libc.umount2(b"/proc", 2) == 0:
    done.append("umount")
if libc.chroot(b"/tmp") == 0:
    done.append("chroot")
for change in (os.setuid, os.setgid):
    try:
        change(0)
        done.append(change.__name__) if os.getuid() else None
    except OSError:
        pass
return done
"""
    assert [one for one in walled.output(body) if one not in {"setuid", "setgid"}] == []


ENVIRONMENT = """
import glob, os
texts = [repr(dict(os.environ))]
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        texts.append(open(path, "rb").read().decode("utf-8", "replace"))
    except OSError:
        pass
return " ".join(texts)
"""


def test_environment_and_arguments_tell_no_secret(walled: JailChildren) -> None:
    assert_tells_nothing(walled.output(ENVIRONMENT))


def test_the_environment_tells_no_key_of_a_plug_in(
    isolation: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set for this child alone: a sidecar without the plug-in would refuse to start with its setting."""
    monkeypatch.setenv("LOOPWRIGHT_HOUSE_STYLE_API_KEY", PLANTED)

    with jailed(tmp_path / "prison", isolation, LIMITS) as own:
        assert_tells_nothing(own.output(ENVIRONMENT))


def assert_tells_nothing(seen: str) -> None:
    assert "HOME" in seen
    assert not [name for name in ("INNGEST_", "LOOPWRIGHT_", "OPENAI_", PLANTED) if name in seen]
