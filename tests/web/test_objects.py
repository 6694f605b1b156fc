"""Objects over HTTP: versions, conflicts, bytes."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from app.asset_addresses import AssetAddresses
from app.session_secret import session_secret
from tests.web.site.pictures import film, poster
from tests.web.site.site import Site


def upload(site: Site, name: str, data: bytes, media_type: str = "application/octet-stream") -> dict[str, object]:
    answer = site.client.post("/api/v1/objects", files={"file": (name, data, media_type)})
    assert answer.status_code == 201, answer.text
    made: dict[str, object] = answer.json()
    return made


def test_a_document_is_written_changed_and_kept_in_all_its_versions(site: Site) -> None:
    # Given a document
    made = site.post("/api/v1/objects", {"kind": "document", "title": "Notes", "content": "one\ntwo"}).json()
    path = f"/api/v1/objects/{made['id']}"
    assert (made["version"], made["kind"], made["media_type"]) == (1, "document", "text/markdown")

    # When it is replaced on top of its version, and edited by snippet
    second = site.client.put(path, json={"content": "one\nzwei"}, headers={"If-Match": '"1"'})
    third = site.post(f"{path}/edits", {"edits": [{"find": "zwei", "replace": "three"}]})

    # Then every version is there
    assert (second.status_code, second.json()["version"]) == (200, 2)
    assert (third.status_code, third.json()["version"]) == (200, 3)
    assert site.client.get(f"{path}/content").text == "one\nthree"
    assert site.client.get(f"{path}/content", params={"version": "1"}).text == "one\ntwo"
    assert [one["version"] for one in site.get(f"{path}/history")["items"]] == [3, 2, 1]
    assert site.get(path, version="2")["version"] == 2


def test_who_comes_late_is_told_what_came_between(site: Site) -> None:
    made = site.post("/api/v1/objects", {"title": "Notes", "content": "one"}).json()
    path = f"/api/v1/objects/{made['id']}"
    site.client.put(path, json={"content": "two"}, headers={"If-Match": "1"})

    missing = site.client.put(path, json={"content": "x"})
    nonsense = site.client.put(path, json={"content": "x"}, headers={"If-Match": "abc"})
    stale = site.client.put(path, json={"content": "x"}, headers={"If-Match": "1"})
    torn = site.post(f"{path}/edits", {"edits": [{"find": "absent", "replace": "x"}]})

    assert [missing.status_code, nonsense.status_code, stale.status_code] == [428, 422, 409]
    assert stale.json()["current_version"] == 2
    assert [one["version"] for one in stale.json()["conflicts"]] == [2]
    assert torn.status_code == 409
    assert torn.json()["conflicts"][0]["reason"] == "missing"
    assert site.client.get(f"{path}/content").text == "two"


def test_a_picture_is_shown_and_a_page_is_not(site: Site) -> None:
    # Given a picture, and a page that calls itself one
    picture = upload(site, "poster.png", poster("A"))
    trap = upload(site, "trap.png", b"<html><script>alert(1)</script></html>", "image/png")

    # When their bytes are asked for
    shown = site.client.get(f"/api/v1/objects/{picture['id']}/content")
    kept = site.client.get(f"/api/v1/objects/{trap['id']}/content")

    # Then only what we found to be a picture is shown inline, and nothing of it may run
    assert shown.content == poster("A")
    assert (shown.headers["Content-Type"], picture["kind"]) == ("image/png", "image")
    assert shown.headers["Content-Disposition"].startswith("inline")
    assert kept.headers["Content-Disposition"].startswith("attachment")
    assert kept.headers["Content-Type"].startswith("text/plain")
    for answer in (shown, kept):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=100-", 206, slice(100, None)),
        ("bytes=-20", 206, slice(-20, None)),
        ("bytes=0-9,20-29", 200, slice(None)),
        ("lines=1-2", 200, slice(None)),
    ],
)
def test_a_film_is_read_in_parts(site: Site, asked: str, status: int, part: slice) -> None:
    data = film(1)
    made = upload(site, "film.mp4", data)

    answer = site.client.get(f"/api/v1/objects/{made['id']}/content", headers={"Range": asked})

    assert answer.status_code == status
    assert answer.content == data[part]
    assert answer.headers["Accept-Ranges"] == "bytes"


def test_a_part_beyond_the_end_and_bytes_that_are_known(site: Site) -> None:
    data = film(1)
    path = f"/api/v1/objects/{upload(site, 'film.mp4', data)['id']}/content"

    beyond = site.client.get(path, headers={"Range": f"bytes={len(data)}-"})
    first = site.client.get(path)
    again = site.client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    # As a proxy that compresses says it
    weakly = site.client.get(path, headers={"If-None-Match": f"W/{first.headers['ETag']}"})

    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{len(data)}")
    assert (again.status_code, again.content) == (304, b"")
    assert weakly.status_code == 304


def test_a_title_in_any_script_names_the_download(site: Site) -> None:
    made = site.post("/api/v1/objects", {"title": 'Affiche "été" 港', "content": "x"}).json()

    shown = site.client.get(f"/api/v1/objects/{made['id']}/content").headers["Content-Disposition"]

    assert "filename*=UTF-8''Affiche%20%22%C3%A9t%C3%A9%22%20%E6%B8%AF.md" in shown


def test_lists_are_narrowed_by_kind_and_words(site: Site) -> None:
    upload(site, "Harbour.png", poster("A"))
    site.post("/api/v1/objects", {"title": "Harbour notes", "content": "x"})

    assert [one["title"] for one in site.get("/api/v1/objects", kind="image")["items"]] == ["Harbour.png"]
    assert [one["title"] for one in site.get("/api/v1/objects", q="notes harbour")["items"]] == ["Harbour notes"]
    assert site.client.get("/api/v1/objects", params={"kind": "house"}).status_code == 422


def test_uploads_that_cannot_be_taken(site: Site) -> None:
    nothing = site.client.post("/api/v1/objects", files={"other": ("a", b"x")})
    empty = site.client.post("/api/v1/objects", files={"file": ("a", b"")})
    large = site.client.post("/api/v1/objects", files={"file": ("a", b"x" * (51 * 1024 * 1024))})

    assert [nothing.status_code, empty.status_code, large.status_code] == [400, 422, 413]
    assert large.json()["limit"] == 50 * 1024 * 1024


def test_a_signed_address_gives_bytes_until_it_expires(site: Site) -> None:
    # Given addresses: a good one, one of yesterday, and one for other bytes
    made, other = upload(site, "a.png", poster("A")), upload(site, "b.png", poster("B"))
    addresses = AssetAddresses(session_secret(site.dependencies.settings.home))
    now = site.dependencies.clock.now()
    good = addresses.address(site.url, str(made["sha256"]), now + timedelta(minutes=5))
    old = addresses.address(site.url, str(made["sha256"]), now - timedelta(seconds=1))
    turned = good.replace(str(made["sha256"]), str(other["sha256"]))

    # Then without a key only the good one opens anything
    with httpx.Client(trust_env=False) as stranger:
        answers = [stranger.get(address) for address in (good, old, turned, good + "0")]
    assert [answer.status_code for answer in answers] == [200, 403, 403, 403]
    assert answers[0].content == poster("A")


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("collection", "not json", "this is none"),
        ("collection", "[]", "JSON object"),
        ("collection", "{}", "`items`"),
        ("collection", '{"items": []}', "`items`"),
        ("collection", '{"items": [{"object_id": "object_1"}]}', "items.0"),
        ("collection", '{"items": [{"object_id": "object_1", "version": true}]}', "items.0"),
        ("flow", "not json", "this is none"),
        ("flow", '"words"', "JSON object"),
        ("flow", "[" * 100_000, "flow"),
    ],
)
def test_a_collection_and_a_flow_hold_what_programs_can_read(site: Site, kind: str, content: str, said: str) -> None:
    refused = site.post("/api/v1/objects", {"kind": kind, "title": "Set", "content": content})

    assert refused.status_code == 422
    assert said in refused.json()["detail"]


def test_a_collection_stays_one_when_it_is_changed(site: Site) -> None:
    good = '{"items": [{"object_id": "object_1", "version": 1}]}'
    made = site.post("/api/v1/objects", {"kind": "collection", "title": "Set", "content": good}).json()
    assert made["media_type"] == "application/json"
    path = f"/api/v1/objects/{made['id']}"

    whole = site.client.put(path, json={"content": "words"}, headers={"If-Match": "1"})
    part = site.post(f"{path}/edits", {"edits": [{"find": '"items"', "replace": '"things"'}]})
    better = site.client.put(path, json={"content": good.replace("_1", "_2")}, headers={"If-Match": "1"})

    assert (whole.status_code, part.status_code, better.status_code) == (422, 422, 200)
    assert site.get(path)["version"] == 2
