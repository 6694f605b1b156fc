"""An engine that asks for a skill's functions again and again: Inngest's dev server does, unless it is told not to."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import httpx
import pytest

from core.orchestrator.signature import SIGNATURE_HEADER, sign_body
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded", "inngest")]


def test_to_be_asked_again_is_no_news(skills: RunningSidecar) -> None:
    # Given two skills that serve, and a sidecar that has nothing to do
    for stem in ("asked_for", "beside"):
        skills.save(stem, hello(3, f"{stem}/asked"))
        skills.live(stem, 1)
    until("quiet", lambda: is_quiet(skills), 60)
    log, watches = skills.log, watches_of(skills)

    # When the engine asks for one of them, every half second
    for _ in range(6):
        assert asked(skills, "asked_for").json() == {"ok": True}
        time.sleep(0.5)

    # Then nobody takes that for an engine that forgot everything: nothing is told anew, nobody is rung
    assert skills.log == log
    assert watches_of(skills) == watches
    skills.ask("asked_for/asked")
    assert skills.outputs("skill-asked_for/hello", 1) == [3]


def asked(skills: RunningSidecar, stem: str) -> httpx.Response:
    key = skills.engine.signing_key
    headers = {SIGNATURE_HEADER: sign_body(key, b"", datetime.now(UTC))} if key else {}
    return httpx.put(f"{skills.url}/api/inngest/{stem}", headers=headers, timeout=30).raise_for_status()


def is_quiet(skills: RunningSidecar) -> bool:
    """What ships has been looked at, and for two seconds nothing is said."""
    before = skills.log
    time.sleep(2)
    return skills.log == before and bool(skills.skill("incident_triage").get("functions"))


def watches_of(skills: RunningSidecar) -> list[str]:
    found = skills.client.get("/v1/events", {"name": "watch/requested", "fresh": time.monotonic_ns()})["data"]
    return [event["internal_id"] for event in found]
