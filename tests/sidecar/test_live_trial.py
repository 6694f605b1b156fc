"""The agent's change to a skill that has run is tried on what was recorded of it, by the real sidecar."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from skills.book import drafts, skill, versions
from tests.sidecar.test_broker_live import SKILL, grant
from tests.support.http_servers import Response, http_server
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until


@pytest.mark.load
def test_a_change_is_rehearsed_with_its_effects_faked_and_a_broken_one_never_serves(skills: RunningSidecar) -> None:
    with http_server(lambda _: Response(body=b'{"state": "open"}')) as shop:
        first = SKILL.format(place=shop.address, other=skills.port)
        skills.save("shop", first)
        grant(skills, "shop")
        serving = skills.live("shop", 1)
        skills.ask("shop/asked")
        skills.outputs("skill-shop/ask", 1)
        skills.outputs("skill-shop/hear", 1)
        asked = len(shop.requests)

        broken = first.replace('"state": state, "refused"', '"state": 1 // len(refused[:0]), "refused"')
        refused = _announced(skills, broken)
        facts = until("the broken change's dry run", lambda: _dry_run(skills, refused), 90)
        assert "ZeroDivisionError" in facts["failed"]
        assert len(shop.requests) == asked

        better = first.replace('"the shop is "', '"the shop seems "')
        changed = _announced(skills, better)
        facts = until("the good change's dry run", lambda: _dry_run(skills, changed), 90)

    assert (facts["runs"], facts["failed"]) == (2, "")
    said = "\n".join(facts["differences"])
    assert 'would now do this: notify {"channel": "ops", "text": "the shop seems open"}' in said
    assert skills.skill("shop")["hash"] == serving["hash"]


def _announced(skills: RunningSidecar, text: str) -> str:
    """As `write_skill` does it: said first, then saved."""
    sha = hashlib.sha256(text.encode()).hexdigest()
    with skills.writing() as scope:
        base = skill.get_skill(scope, "shop").version_id
        drafts.announce_save(
            scope, skill_id="shop", sha=sha, author="agent", author_ref="task_1", reason="to try", base_id=base
        )
    skills.save("shop", text)
    return sha


def _dry_run(skills: RunningSidecar, sha: str) -> dict[str, Any]:
    with skills.reading() as scope:
        version = versions.find_version_by_sha(scope, "shop", sha)
    return dict(version.stage_facts.get("dry_run") or {}) if version is not None else {}
