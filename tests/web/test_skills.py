"""Skills as the API and the pages show them, and what a person may do to them there."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from core.identity import create_key
from skills.book import refusals, runs
from skills.book.skill import enter_skill, reject_save
from skills.book.versions import CheckedVersion, add_version
from skills.format.manifest import Permissions, SkillManifest
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion
from tests.web.site.site import Site

CRON = {"cron": "TZ=Europe/Paris 0 3 * * *"}
STEM = "watch_prices"
FN = {"id": f"skill-{STEM}-look", "name": "look", "triggers": [CRON]}


def save(site: Site, source: str, *, live: bool = True, hosts: tuple[str, ...] = ()) -> CheckedVersion:
    """A version of the skill, as the sidecar enters it."""
    with site.writing() as scope:
        skill = enter_skill(scope, STEM, origin="agent", path="/agent/watch_prices.py")
        version = add_version(
            scope,
            skill_id=STEM,
            sha=f"{abs(hash(source)):064x}"[:64],
            source=source,
            author="agent",
            author_ref="turn:1:1",
            reason="prices move",
            parent_id=skill.version_id,
            manifest=SkillManifest(
                title="Prices", purpose="Looks at prices", permissions=Permissions(hosts=list(hosts))
            ),
            functions=[FN],
        )
        promotion.offer_version(scope, STEM, version)
        if live:
            promotion.activate_version(scope, STEM, version)
    return version


def one(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.get(f"/api/v1/skills/{STEM}")
    return found


def test_a_skill_is_listed_with_its_schedule_and_its_runs(site: Site) -> None:
    # Given nothing, then a live skill with a run that ended
    assert site.get("/api/v1/skills") == {"items": [], "next": None}
    version = save(site, "LIMIT = 1\n")
    with site.writing() as scope:
        runs.record_run_start(
            scope, run_id="r1", skill_id=STEM, function_id="look", version_id=version.id, stage="live", event={}
        )
        runs.record_run_end(scope, "r1", "completed", attempts=1)

    # Then it is listed with what serves and when it fires next, in UTC
    [listed] = site.get("/api/v1/skills")["items"]
    assert (listed["id"], listed["status"], listed["version"]) == (STEM, "active", 1)
    assert listed["hash"] == version.sha
    assert listed["source"] == "/agent/watch_prices.py"
    assert listed["functions"] == [{"id": "look", "app": f"skill-{STEM}", "name": "look", "triggers": [CRON]}]
    assert len(listed["next_runs"]) == 3
    assert all(at.endswith(("T01:00:00Z", "T02:00:00Z")) for at in listed["next_runs"])
    assert [(run["id"], run["status"]) for run in listed["runs"]] == [("r1", "completed")]
    assert site.client.get("/api/v1/skills/other").status_code == 404


def test_versions_tell_who_why_and_what_changed(site: Site) -> None:
    save(site, "LIMIT = 1\n")
    save(site, "LIMIT = 2\n")

    listed = site.get(f"/api/v1/skills/{STEM}/versions")["items"]
    second = site.get(f"/api/v1/skills/{STEM}/versions/2")

    assert [(at["version"], at["stage"], at["author"], at["reason"]) for at in listed] == [
        (2, "active", "agent", "prices move"),
        (1, "superseded", "agent", "prices move"),
    ]
    assert second["source"] == "LIMIT = 2\n"
    assert {"-LIMIT = 1", "+LIMIT = 2"} <= set(second["diff"].splitlines())
    assert site.client.get(f"/api/v1/skills/{STEM}/versions/3").status_code == 404
    assert site.client.get(f"/api/v1/skills/{STEM}/versions/two").status_code == 422


def test_a_candidate_shows_beside_what_serves(site: Site) -> None:
    save(site, "LIMIT = 1\n")
    version = save(site, "LIMIT = 2\n", live=False)
    with site.writing() as scope:
        promotion.set_candidate_stage(scope, STEM, version, "canary")

    shown = one(site)

    assert (shown["status"], shown["version"]) == ("active", 1)
    assert shown["candidate"] == {"version": 2, "stage": "canary"}


def test_how_a_version_was_tried_is_shown_with_what_it_was_compared_with(site: Site) -> None:
    # Given a change that was tried on recorded runs and beside what serves, and had one of its first runs
    first = save(site, "LIMIT = 1\n")
    version = save(site, "LIMIT = 2\n", live=False)
    dry_run = {
        "runs": 5,
        "failed": "",
        "silent": 1,
        "differences": ["run r1: it <returns> 2 instead of 1"],
        "against": 1,
    }
    beside = {"runs": 0, "failed": "", "differences": [], "against": 1, "of": 1, "since": "2026-03-02T09:00:00+00:00"}
    with site.writing() as scope:
        named = {"skill_id": STEM, "function_id": "look", "event": {}}
        runs.record_run_start(scope, run_id="r1", version_id=first.id, stage="live", **named)  # type: ignore[arg-type]
        promotion.set_candidate_stage(scope, STEM, version, "dry_run", dry_run=dry_run)
        promotion.set_candidate_stage(scope, STEM, version, "shadow", shadow=beside)
    waits = [trial["words"] for trial in one(site)["versions"][0]["trials"]]
    with site.writing() as scope:
        promotion.set_candidate_stage(
            scope,
            STEM,
            version,
            "canary",
            shadow={**beside, "runs": 1},
            canary={"of": 3, "since": scope.now.isoformat()},
        )
        runs.record_run_start(scope, run_id="r2", version_id=version.id, stage="canary", **named)  # type: ignore[arg-type]
        runs.record_run_end(scope, "r2", "completed", attempts=1)

    # Then each trial says so in words, the page with what it did otherwise, and each run says which version it is on
    shown = one(site)
    trials = shown["versions"][0]["trials"]
    assert waits[1] == "shadow beside version 1, effects faked: it waits for the next run that ends"
    assert [(trial["how"], trial["against"], trial["runs"], trial["of"], trial["failed"]) for trial in trials] == [
        ("dry_run", 1, 5, None, None),
        ("shadow", 1, 1, 1, None),
        ("canary", None, 1, 3, None),
    ]
    assert [trial["words"] for trial in trials] == [
        "dry run on 5 recorded runs of version 1, effects faked: 4 went well, 1 showed nothing",
        "shadow beside version 1, effects faked: 1 went well",
        "first runs of its own: 1 of 3 went well",
    ]
    assert trials[0]["differences"] == dry_run["differences"]
    assert {(run["id"], run["version"], run["stage"]) for run in shown["runs"]} == {
        ("r1", 1, "live"),
        ("r2", 2, "canary"),
    }
    text = site.client.get(f"/skills/{STEM}").text
    assert trials[2]["words"] in text
    assert "it &lt;returns&gt; 2 instead of 1" in text

    # And what failed stays to be read, whatever is saved later
    with site.writing() as scope:
        promotion.set_candidate_stage(
            scope, STEM, version, "dry_run", dry_run={**dry_run, "failed": "run r1: KeyError"}
        )
        promotion.refuse_version(scope, STEM, version.sha, (SkillProblem(None, "the dry run failed", "correct it"),))
    save(site, "LIMIT = 3\n", live=False)
    tried = site.get(f"/api/v1/skills/{STEM}/versions/2")
    assert (tried["stage"], tried["trials"][0]["failed"]) == ("refused", "run r1: KeyError")


def test_who_brought_an_older_version_back_is_shown(site: Site) -> None:
    first = save(site, "LIMIT = 1\n")
    save(site, "LIMIT = 2\n")
    with site.writing() as scope:
        promotion.offer_version(
            scope, STEM, first, {"author": "agent", "author_ref": "turn:2:1", "reason": "it was too late"}
        )

    assert one(site)["versions"][1]["brought_back"] == {"author": "agent", "reason": "it was too late"}
    assert one(site)["versions"][0]["brought_back"] is None
    assert '<span class="chip active">active</span>' in site.client.get("/skills").text
    assert "brought back by the agent: " in site.client.get(f"/skills/{STEM}?version=1").text


def test_a_person_disables_enables_and_rolls_back(site: Site) -> None:
    # Given two versions that served
    save(site, "LIMIT = 1\n")
    save(site, "LIMIT = 2\n")

    # When it is disabled, then nothing is due
    assert site.post(f"/api/v1/skills/{STEM}/disable").json()["status"] == "disabled"
    assert one(site)["next_runs"] == []
    # And a roll back waits for it to be enabled
    refused = site.post(f"/api/v1/skills/{STEM}/rollback")
    assert (refused.status_code, refused.json()["status"], refused.json()["state"]) == (409, 409, "disabled")

    # When it is enabled and rolled back, then the first version serves, and can be left again by number
    assert site.post(f"/api/v1/skills/{STEM}/enable").json()["status"] == "active"
    assert site.post(f"/api/v1/skills/{STEM}/rollback").json()["version"] == 1
    assert site.post(f"/api/v1/skills/{STEM}/rollback", {"version": 2}).json()["version"] == 2
    assert site.post(f"/api/v1/skills/{STEM}/rollback", {"version": 9}).status_code == 404

    # When it is deleted, then nothing of it serves
    assert site.client.delete(f"/api/v1/skills/{STEM}").json()["status"] == "retired"
    assert site.post(f"/api/v1/skills/{STEM}/enable").status_code == 409


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/enable"), ("POST", "/rollback"), ("DELETE", "")], ids=lambda value: value
)
def test_a_program_widens_and_ends_nothing(site: Site, method: str, path: str) -> None:
    save(site, "LIMIT = 1\n")
    with site.writing() as scope:
        create_key(
            scope,
            person_id=site.person_id,
            name="robot",
            scopes=("read", "write", "approve"),
            speaks_as="program",
            raw="robot-key",
        )

    with httpx.Client(base_url=site.url, headers={"Authorization": "Bearer robot-key"}) as robot:
        answer = robot.request(method, f"/api/v1/skills/{STEM}{path}", json={} if method == "POST" else None)
        assert robot.post(f"/api/v1/skills/{STEM}/disable", json={}).status_code == 200

    assert answer.status_code == 403
    assert "person" in answer.json()["detail"]


def test_the_page_shows_source_permissions_and_what_was_refused(site: Site) -> None:
    version = save(site, "LIMIT = 1  # <script>alert(1)</script>\n", hosts=("prices.example:443",))
    with site.writing() as scope:
        refusals.record_refusal(
            scope, skill_id=STEM, version_id=version.id, run_id=None, what="host", detail="elsewhere.example:443"
        )
        for n, status in enumerate(("completed", "failed")):
            run_id = f"run{n}"
            runs.record_run_start(
                scope, run_id=run_id, skill_id=STEM, function_id="look", version_id=version.id, stage="live", event={}
            )
            runs.record_run_end(scope, run_id, status, attempts=1)  # type: ignore[arg-type] # both are ends

    shown = site.client.get(f"/skills/{STEM}").text
    listed = site.client.get("/skills").text

    assert "&lt;script&gt;" in shown
    assert "<script>alert" not in shown
    assert "reach prices.example:443" in shown
    assert "not granted" in shown
    assert "elsewhere.example:443" in shown
    assert "50 % of 2 went well" in shown
    assert f"/skills/{STEM}" in listed


def test_a_file_that_never_served_says_why(site: Site) -> None:
    with site.writing() as scope:
        skill = enter_skill(scope, STEM, origin="person", path="/people/watch_prices.py")
        reject_save(scope, skill, "f" * 64, (SkillProblem(3, "no MANIFEST", "add one"),))

    shown = one(site)

    assert (shown["status"], shown["version"], shown["hash"]) == ("refused", None, None)
    assert shown["problems"] == [{"line": 3, "reason": "no MANIFEST", "fix": "add one"}]
    assert "Line 3" in site.client.get(f"/skills/{STEM}").text
