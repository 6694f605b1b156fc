"""A skill that uses the kit, from its save to what it did: the real sidecar, jail, broker and engine."""

from __future__ import annotations

import json

import pytest

from core.identity import HOME_WORKSPACE
from runtime import notices
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from skills.book import refusals
from skills.card_answers import SKILL_CARD_ANSWERS
from tests.support.http_servers import Response, http_server
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until

pytestmark = pytest.mark.long

SKILL = '''"""Asks a shop how it is doing."""
import inngest
from skills.kit import Refused, client, http, notify, runs

MANIFEST = {{"title": "Shop", "purpose": "asks a shop", "permissions": {{
    "hosts": ["{place}"], "notify": ["ops"],
    "events": {{"listen": ["shop/asked", "shop/answered"], "send": ["shop/answered"]}}}}}}
URL = "http://{place}"
ELSEWHERE = {other}

def shop() -> str:
    return str(http.get(URL + "/state", params={{"of": "shop"}}).json()["state"])

def elsewhere() -> str:
    try:
        return http.get(f"http://127.0.0.1:{{ELSEWHERE}}/").text
    except Refused as error:
        return str(error)

@client.create_function(fn_id="ask", trigger=inngest.TriggerEvent(event="shop/asked"), retries=0)
def ask(ctx: inngest.ContextSync) -> dict[str, object]:
    state = ctx.step.run("state", shop)
    refused = ctx.step.run("elsewhere", elsewhere)
    ctx.step.run("tell", lambda: notify("ops", "the shop is " + state))
    ctx.step.send_event("answer", inngest.Event(name="shop/answered", data={{"state": state}}))
    return {{"state": state, "refused": refused}}

@client.create_function(fn_id="hear", trigger=inngest.TriggerEvent(event="shop/answered"), retries=0)
def hear(ctx: inngest.ContextSync) -> object:
    return ctx.event.data["state"]
'''


def test_a_skill_reaches_what_it_was_granted_and_nothing_else(skills: RunningSidecar) -> None:
    with http_server(lambda _: Response(body=b'{"state": "open"}')) as shop:
        skills.save("shop", SKILL.format(place=shop.address, other=skills.port))
        grant(skills, "shop")
        skills.live("shop", 1)
        skills.ask("shop/asked")
        (answer,) = skills.outputs("skill-shop/ask", 1)
        (heard,) = skills.outputs("skill-shop/hear", 1)

    assert answer["state"] == heard == "open"
    assert "is not among the hosts of the manifest" in answer["refused"]
    assert [one.path for one in shop.requests] == ["/state?of=shop"]
    with skills.reading() as scope:
        assert [(one.channel, one.text) for one in notices.list_newest_notices(scope)] == [
            ("ops", "[skill shop] the shop is open")
        ]
        assert [one.what for one in refusals.list_refusals(scope, "shop")] == ["host"]
    (run,) = skills.runs("skill-shop/ask")
    recording = skills.home / "sidecar" / "recordings" / "shop" / f"{run['id']}.jsonl"
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert [line.get("path", "memos") for line in lines] == ["/http", "/notify", "/events", "memos"]
    assert len(lines[-1]["memos"]) == 4


def grant(skills: RunningSidecar, stem: str) -> None:
    """A person answers the card that the skill's first version waits for."""

    def waiting() -> str:
        with skills.reading() as scope:
            found = [one.id for one in cards.list_open_cards(scope) if one.subject.get("skill_id") == stem]
        assert not skills.skill(stem).get("problems"), skills.skill(stem)
        return found[0] if found else ""

    card_id = until(f"a card for {stem}", waiting, 60)
    with skills.database.transaction(HOME_WORKSPACE) as scope:
        answer_card(scope, card_id, "grant", None, "person_local", CardAnswers(SKILL_CARD_ANSWERS))
