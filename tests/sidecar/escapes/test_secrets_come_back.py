"""A host repeats a secret as it likes: skill, log and record see its name, whatever became of its letters."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skills.kit import Refused, Unavailable, http, secrets
from tests.support.databases import Store
from tests.support.http_servers import HttpServer, Request, Response, http_server
from tests.support.skill_world import SkillWorld, skill_world

pytestmark = pytest.mark.long

SECRET = "Tok3n/Q?>~X'y&\"z"
PLAIN = "Tok3n-QxYz"


@pytest.fixture
def world(store: Store, tmp_path: Path) -> Iterator[SkillWorld]:
    with skill_world(store, tmp_path / "h") as made:
        made.secrets.set("TOKEN", SECRET)
        made.secrets.set("PLAIN", PLAIN)
        yield made


def speak(world: SkillWorld, good: HttpServer, *others: HttpServer) -> None:
    hosts = [good.address, *(one.address for one in others)]
    world.speak_as("bad", hosts=hosts, secrets={"TOKEN": good.address, "PLAIN": good.address})


LOOKS: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda said: said.encode(),
    "in small letters": lambda said: said.lower().encode(),
    "in capitals": lambda said: said.upper().encode(),
    "in hex": lambda said: said.encode().hex().encode(),
    "in capital hex": lambda said: said.encode().hex().upper().encode(),
    "in base64 for addresses": lambda said: base64.urlsafe_b64encode(said.encode()),
    "in wide letters": lambda said: said.encode("utf-16"),
    "in wide letters, the other way round": lambda said: said.encode("utf-16-be"),
    "in HTML by numbers": lambda said: html.escape(said).replace("&#x27;", "&#39;").replace("&quot;", "&#34;").encode(),
    "in XML": lambda said: html.escape(said).replace("&#x27;", "&apos;").encode(),
    "in JSON for HTML": lambda said: json.dumps(said).replace("&", "\\u0026").replace(">", "\\u003e").encode(),
    "in JSON with numbers": lambda said: json.dumps(said).replace("'", "\\u0027").replace('\\"', "\\u0022").encode(),
    "in an address, as browsers write it": lambda said: said.replace("?", "%3f").replace('"', "%22").encode(),
    "packed": lambda said: gzip.compress(said.encode()),
}


@pytest.mark.parametrize("look", LOOKS)
def test_in_an_answer(world: SkillWorld, look: str) -> None:
    packed = {"content-encoding": "gzip"} if look == "packed" else {}
    with http_server(lambda request: Response(200, LOOKS[look](request.headers["x-token"]), packed)) as good:
        speak(world, good)
        answer = http.get(good.url, headers={"x-token": secrets["TOKEN"]})

    assert b"secret:TOKEN" in answer.content, answer.content


def test_in_the_host_of_a_redirect(world: SkillWorld, caplog: pytest.LogCaptureFixture) -> None:
    """As frameworks do that believe `X-Forwarded-Host`: the host of an address is in small letters."""
    caplog.set_level(logging.INFO)
    with http_server(
        lambda request: Response(302, b"", {"location": f"http://{request.headers['x-forwarded-host']}/"})
    ) as good:
        speak(world, good)
        with pytest.raises(Refused, match="redirects to") as refused:
            http.get(good.url, headers={"X-Forwarded-Host": secrets["PLAIN"]})

    told = [str(refused.value), *(one.detail for one in world.refused("bad")), caplog.text]
    assert not [one for one in told if PLAIN.lower() in one.lower()]


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "compress"])
def test_packed_in_a_way_that_cannot_be_looked_into(world: SkillWorld, packing: str) -> None:
    def respond(request: Request) -> Response:
        twice = gzip.compress(gzip.compress(request.headers["x-token"].encode()))
        return Response(200, twice, {"content-encoding": packing})

    with http_server(respond) as good:
        speak(world, good)
        with pytest.raises(Unavailable, match="compressed"):
            http.get(good.url, headers={"x-token": secrets["PLAIN"]})


def test_piece_by_piece(world: SkillWorld) -> None:
    """No piece of a secret is one: a host that has one of the skill's is not asked for pieces."""

    def respond(request: Request) -> Response:
        first, last = (int(one) for one in request.headers["range"].removeprefix("bytes=").split("-"))
        return Response(206, PLAIN.encode()[first : last + 1])

    with http_server(respond) as good:
        speak(world, good)
        for name in ("Range", "range"):
            with pytest.raises(Refused, match="must not be set"):
                http.get(good.url, headers={name: "bytes=0-3"})
    assert good.requests == []


def test_pieces_of_other_hosts_may_be_asked_for(world: SkillWorld) -> None:
    with http_server(lambda _: Response(206, b"part")) as other, http_server() as good:
        speak(world, good, other)
        assert http.get(other.url, headers={"Range": "bytes=0-3"}).text == "part"


def test_a_host_of_its_own_does_not_tell_which_guess_is_right(world: SkillWorld) -> None:
    """Were every answer masked, the skill could have its own server say a million guesses and see which one is gone."""
    guesses = "\n".join(["1234", PLAIN, SECRET])
    with http_server(lambda _: Response(200, guesses.encode())) as own, http_server() as good:
        speak(world, good, own)
        assert http.get(own.url).text == guesses


def test_a_secret_that_nobody_granted_is_not_told_by_its_mask(world: SkillWorld) -> None:
    with http_server(lambda _: Response(200, PLAIN.encode())) as own:
        granted = [f"host:{own.address}"]
        world.speak_as("bad", hosts=[own.address], secrets={"PLAIN": own.address}, granted=granted)
        assert http.get(own.url).text == PLAIN
