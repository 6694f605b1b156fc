"""What the pages show."""

from __future__ import annotations

import re

import pytest

from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually
from tests.engine_pages.shop import HOSTILE
from tests.engine_pages.visitor import Visitor

ORDER = {"id": "o", "total": 42, "customer": "ada"}


def function_id(engine: EngineProcess, visitor: Visitor, name: str) -> str:
    found = re.search(rf'/ui/functions/([0-9a-f-]{{36}})">{name}', visitor.text("/ui/functions"))
    assert found is not None
    return found[1]


def test_the_bare_address_leads_to_the_overview(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given one run that failed
    (event_id,) = shop_engine.send({"name": "bad/thing"})
    shop_engine.ended_run(event_id)
    # When a person opens the engine's address, then they see what is there, what failed and what comes
    assert visitor.get("/").headers["location"] == "/ui"
    words = visitor.words("/ui")
    assert "Apps 1 Functions 6 Running" in words
    assert "Latest failures Function Run Status Started by Queued Took Always fails" in words
    assert re.search(r"TZ=Europe/Oslo 0 3 1 1 \* \S+-01-01 02:00:00 UTC \w+ 01 Jan \d+, 03:00:00 Europe/Oslo", words)


def test_functions_show_triggers_options_and_schedules(shop_engine: EngineProcess, visitor: Visitor) -> None:
    words = visitor.words("/ui/functions")
    assert re.search(r"shop http://\S+ · py:v0.5.\d+ · flask · registered", words)
    assert "Send a receipt receipt/asked" in words
    one = visitor.words(f"/ui/functions/{function_id(shop_engine, visitor, 'Charge')}")
    for told in (
        f"Charge {HOSTILE}",
        "order/placed where event.data.total > 0 · Send one",
        "Retries 2 (3 attempts in all)",
        "Concurrency 5 at a time for each event.data.customer in this function",
        "Cancelled by order/cancelled where async.data.id == event.data.id",
    ):
        assert told in one
    nightly = visitor.words(f"/ui/functions/{function_id(shop_engine, visitor, 'Nightly')}")
    assert re.search(r"30 12 29 2 \* \d{4}-02-29 12:30:00 UTC \w+ 29 Feb \d{4}, 12:30:00 UTC", nightly)
    assert "It has not run." in nightly


def test_a_run_shows_its_steps_attempts_errors_output_and_event(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given a run whose step failed once and that invoked another
    (event_id,) = shop_engine.send({"name": "order/placed", "data": ORDER})
    run = shop_engine.ended_run(event_id)
    # When its page is read
    page = visitor.text(f"/ui/runs/{run['run_id']}")
    words = visitor.words(f"/ui/runs/{run['run_id']}")
    # Then everything is there
    assert re.search(r"charge card run [\d.]+ m?s completed 2 attempts", words)
    assert "Attempt 1 failed" in words
    assert f"ValueError: declined {HOSTILE}" in words
    assert "Traceback" in words
    assert re.search(r"Attempt 2 ended .*Output { \"charge\"", words)
    assert re.search(r"send receipt invoke [\d.]+ m?s completed", words)
    assert f'"note": "{HOSTILE}"' in words
    assert '"customer": "ada"' in words
    assert page.count('<rect class="failed"') == 1
    # And nothing of it is markup
    assert "<script>alert" not in page
    # And the invoked run and the invoking one lead to each other
    child = re.search(r'Invoked</dt><dd><a href="(/ui/runs/\w+)"', page)
    assert child is not None
    assert f'<a href="/ui/runs/{run["run_id"]}">invoked by another run' in visitor.text(child[1])


def test_a_run_that_waits_says_for_what(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given a run that waits for an event
    (event_id,) = shop_engine.send({"name": "order/placed", "data": {**ORDER, "id": "waits", "hold": True}})
    told = "waits for the event order/delivered where async.data.id == event.data.id, until"

    def waiting() -> str | None:
        address = f"/ui/runs/{shop_engine.runs_of(event_id)[0]['run_id']}"
        return address if told in visitor.words(address) else None

    address = eventually(waiting)
    # Then its page follows it, until it has ended
    assert 'data-every="1000" data-status="running"' in visitor.text(address)
    assert "Running 1 " in visitor.words("/ui")
    shop_engine.send({"name": "order/delivered", "data": {"id": "waits"}})
    shop_engine.ended_run(event_id)
    assert re.search(r'id="live" data-status="completed"', visitor.text(address))


def test_a_failed_function_shows_each_attempt(shop_engine: EngineProcess, visitor: Visitor) -> None:
    (event_id,) = shop_engine.send({"name": "bad/thing"})
    run = shop_engine.ended_run(event_id)
    words = visitor.words(f"/ui/runs/{run['run_id']}")
    assert "the function itself call" in words
    assert "failed 2 attempts" in words
    assert words.count("RuntimeError: it is broken") >= 2


def test_events_are_found_by_name_and_lead_to_their_runs(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given events of two names
    asked, other = shop_engine.send({"name": "receipt/asked", "data": {"to": HOSTILE}}, {"name": "nobody/listens"})
    run = shop_engine.ended_run(asked)
    # When one name is asked for, then only that is listed
    page = visitor.text("/ui/events?name=receipt/asked")
    assert asked in page
    assert other not in page
    # And the engine's own are shown when asked for
    assert "inngest/function.finished" not in visitor.text("/ui/events")
    assert "inngest/function.finished" in visitor.text("/ui/events?internal=1")
    # And an event has its runs and its data
    one = visitor.text(f"/ui/events/{asked}")
    assert run["run_id"] in one
    assert "<script>alert" not in one
    assert "None. No function has this trigger" in visitor.words(f"/ui/events/{other}")
    assert HOSTILE in visitor.get(f"/ui/events/{asked}/body.txt").text
    # And the form can be filled in with it
    assert "nobody/listens" in visitor.text(f"/ui/events/new?like={other}")


def test_runs_are_filtered_and_paged(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given more runs than a page has
    ids = shop_engine.send(*({"name": "receipt/asked", "data": {"to": str(n)}} for n in range(60)))
    runs = [shop_engine.ended_run(event_id)["run_id"] for event_id in ids]
    receipt = function_id(shop_engine, visitor, "Send a receipt")
    # When they are read page by page
    address, seen, pages = f"/ui/runs?function={receipt}&status=COMPLETED&app=shop", list[str](), 0
    while address:
        page = visitor.text(address)
        seen += re.findall(r"<code>(\w{26})</code>", page)
        pages += 1
        onward = re.search(r'href="(/ui/runs\?[^"]*)">Earlier runs', page)
        address = onward[1].replace("&amp;", "&") if onward else ""
    # Then each comes once, newest first
    assert pages >= 2
    assert len(set(seen)) == len(seen)
    assert set(runs) <= set(seen)
    assert seen == sorted(seen, reverse=True)
    # And the other filters leave out what they should
    assert "Nothing fits." in visitor.words(f"/ui/runs?function={receipt}&status=FAILED")
    assert "Nothing fits." in visitor.words("/ui/runs?app=other")
    assert "Nothing fits." in visitor.words("/ui/runs?until=2020-01-01T00:00:00Z")
    assert "Nothing fits." in visitor.words("/ui/runs?from=2100-01-01")
    assert runs[-1] in visitor.text("/ui/runs?from=2020-01-01T00:00:00Z")
    assert "Always fails" not in re.sub(r"<option.*?</option>", "", visitor.text("/ui/runs?status=COMPLETED"))


def test_long_values_are_cut_and_whole_as_plain_text(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given an event and an output too long for a page
    long = "x" * 300_000
    (event_id,) = shop_engine.send({"name": "receipt/asked", "data": {"to": f"<b>{long}"}})
    run = shop_engine.ended_run(event_id)
    address = f"/ui/runs/{run['run_id']}"
    # Then the pages stay small
    for path in (address, f"/ui/events/{event_id}"):
        page = visitor.text(path)
        assert len(page) < 100_000
        assert "The beginning of 293 KiB." in page
    # And the whole is text that no browser takes for a page
    step = re.search(rf"{address}/steps/\w+/output.txt", visitor.text(address))
    assert step is not None
    for path in (f"{address}/output.txt", f"{address}/events.txt", f"/ui/events/{event_id}/body.txt", step[0]):
        raw = visitor.get(path)
        assert f"<b>{long}" in raw.text
        assert raw.headers["content-type"] == "text/plain; charset=utf-8"
        assert raw.headers["x-content-type-options"] == "nosniff"


def test_a_run_of_many_steps_is_shown_in_parts(shop_engine: EngineProcess, visitor: Visitor) -> None:
    # Given a run of more steps than a page has, with long outputs
    (event_id,) = shop_engine.send({"name": "count/asked", "data": {"to": 230}})
    run = shop_engine.ended_run(event_id, within=60)
    address, seen = f"/ui/runs/{run['run_id']}", set[str]()
    # When its page and the next are read, then they have all of them, and stay small
    first = visitor.text(address)
    assert "Steps 1 to 200 of 230." in first
    second = visitor.text(f"{address}?first=200")
    assert "Steps 201 to 230 of 230." in second
    for page in (first, second):
        assert len(page) < 800_000
        assert "The beginning of 4.92 KiB." in page
        seen |= set(re.findall(r"number \d+", page))
    assert len(seen) == 230


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui/runs/nothing", 404),
        ("/ui/runs/01J00000000000000000000000/output.txt", 404),
        ("/ui/events/nothing", 404),
        ("/ui/functions/nothing", 404),
        ("/ui/nothing", 404),
        ("/ui/runs?status=LOST", 400),
        ("/ui/runs?from=yesterday", 400),
        ("/ui/runs?until=0001-01-01T00:00:00Z", 400),
        ("/ui/runs?before=%00", 400),
        ("/ui/runs/%00", 400),
        ("/ui/events?name=a%00", 400),
        ("/ui/runs/%F0%9F%98%80%ED%A0%80", 404),
        ("/ui/events?before=1.5", 400),
        ("/ui/events?before=99999999999999999999", 400),
        ("/ui/runs/nothing?first=-1", 400),
    ],
)
def test_strange_addresses_get_a_page_that_says_so(visitor: Visitor, path: str, status: int) -> None:
    answer = visitor.get(path)
    assert answer.status_code == status
    assert "To the overview" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_pages_carry_what_keeps_them_safe(visitor: Visitor) -> None:
    answer = visitor.get("/ui/runs")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    # Nothing is inline and nothing comes from elsewhere
    for path in ("/ui", "/ui/functions", "/ui/events", "/ui/runs", "/ui/events/new"):
        page = visitor.text(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|(?:src|href)=\"(?:https?:)?//", page)
    assert visitor.get("/ui/static/page.js").status_code == 200
    assert visitor.get("/ui/static/../mount.py").status_code == 404
    assert visitor.get("/ui/static/%2e%2e/mount.py").status_code == 404
