"""Hosts that are reached over TLS: the certificate must be for the name that was declared."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from skills.kit import Unavailable, http
from tests.support.http_servers import Response, http_server
from tests.support.skill_world import SkillWorld

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Key and certificate of `localhost`, signed by itself."""
    file = tmp_path / "localhost.pem"
    key, made = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*argv, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    file.write_text(key.read_text() + made.read_text())
    return file


def test_a_certificate_that_nobody_signed_is_not_trusted(world: SkillWorld, certificate: Path) -> None:
    with http_server(tls=_served_with(certificate)) as server:
        world.speak_as("watch", hosts=[f"localhost:{server.port}"])
        with pytest.raises(Unavailable, match="could not be asked"):
            http.get(f"https://localhost:{server.port}/")

    assert server.requests == []


def test_the_name_that_was_declared_must_be_in_the_certificate(
    world: SkillWorld, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with http_server(lambda _: Response(body=b"private"), tls=_served_with(certificate)) as server:
        places = [f"localhost:{server.port}", f"127.0.0.1:{server.port}"]
        world.speak_as("watch", hosts=places)
        answer = http.get(f"https://{places[0]}/")
        with pytest.raises(Unavailable, match="could not be asked"):
            http.get(f"https://{places[1]}/")

    assert answer.text == "private"
    assert [one.headers["host"] for one in server.requests] == [places[0]]


def _served_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
