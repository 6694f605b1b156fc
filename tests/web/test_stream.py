"""The event stream under a slow, a broken and a returning reader: nothing missing, nothing twice, in order."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from app.backup.archive import restore_backup, skip_change_numbers, write_backup
from app.web.stream.hub import Hub
from app.web.stream.reader import Reader
from core.clock import SystemClock
from core.errors import LoopwrightError
from core.settings import load_settings
from core.tables import changes
from runtime import notices
from tests.support.waiting import until
from tests.web.site.dependencies import make_dependencies
from tests.web.site.site import Site, served
from tests.web.site.streaming import Sent, streaming


def change(site: Site, count: int, name: str = "n") -> None:
    """So many changes, each in a transaction of its own."""
    for n in range(count):
        with site.writing() as scope:
            notices.store_notice(scope, "person", f"{name} {n}", f"{name}:{n}")


def texts(events: list[Sent]) -> list[str]:
    return [sent.data["text"] for sent in events]


def test_a_change_arrives_with_its_number_its_kind_and_the_thing(site: Site) -> None:
    with streaming(site) as line:
        # When a message is stored
        message_id = site.say("hello")

        # Then the reader is shown it
        [sent] = line.take(1)
    assert (line.status, line.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (sent.seq, sent.name) == (1, "message.changed")
    assert sent.data == site.get(f"/api/v1/messages/{message_id}")


def test_of_a_thing_that_is_large_its_id_is_sent(site: Site) -> None:
    with streaming(site) as line:
        message_id = site.say("INT. HARBOUR. " * 20_000)
        [sent] = line.take(1)

    assert sent.data == {"id": message_id}
    assert len(site.get(f"/api/v1/messages/{message_id}")["text"]) > 200_000


def test_a_reader_without_a_place_is_told_where_it_stands(site: Site) -> None:
    # Given three changes that happened before
    change(site, 3)

    # When a reader joins, and its line breaks before anything happens
    with streaming(site) as line:
        change(site, 1, "first")
        first = line.take(1)
    change(site, 2, "meanwhile")
    with streaming(site, line.last_id) as line:
        rest = line.take(2)

    # Then it has seen everything since it joined
    assert texts(first + rest) == ["first 0", "meanwhile 0", "meanwhile 1"]


@pytest.mark.case("B59")
def test_a_broken_line_continues_where_it_broke(site: Site) -> None:
    # Given a writer that does not stop
    total = 120
    seen: list[Sent] = []
    writer = threading.Thread(target=change, args=(site, total))
    writer.start()

    # When the line breaks after every few events
    last_id: int = 0
    while len(seen) < total:
        with streaming(site, last_id) as line:
            part = line.take(min(7, total - len(seen)))
        assert part, "the stream ended early"
        last_id = part[-1].seq
        seen += part
    writer.join(30)

    # Then everything came once and in order
    assert texts(seen) == [f"n {n}" for n in range(total)]
    assert [sent.seq for sent in seen] == list(range(1, total + 1))


def test_a_slow_reader_misses_nothing_and_delays_nobody(site: Site) -> None:
    # Given a reader that stops reading, and one that reads
    total = 900
    with streaming(site, 0, receive_buffer=4096) as slow, streaming(site, 0) as quick:
        # When far more happens than the shared window holds
        change(site, total)
        seen_quickly = quick.take(total)

        # Then both see everything once and in order
        seen_slowly = slow.take(total)
    expected = [f"n {n}" for n in range(total)]
    assert texts(seen_quickly) == expected
    assert texts(seen_slowly) == expected


def test_a_place_outlives_the_process(fresh_home: tuple[Path, str], tmp_path: Path) -> None:
    # Given a reader that has seen three changes
    shutil.copytree(fresh_home[0], tmp_path / "home")
    with served(make_dependencies(tmp_path / "home"), fresh_home[1]) as site, streaming(site) as line:
        change(site, 3)
        line.take(3)

    # When the process is another one, and things happened in between
    with served(make_dependencies(tmp_path / "home"), fresh_home[1]) as again:
        change(again, 2, "between")
        with streaming(again, line.last_id) as returned:
            change(again, 1, "after")

            # Then it goes on where it was
            assert texts(returned.take(3)) == ["between 0", "between 1", "after 0"]


def url_of(home: Path) -> str:
    return load_settings(home=home).sql_url


@pytest.mark.case("B59")
@pytest.mark.parametrize("since", [0, 30])
def test_a_place_from_before_a_restore_leads_to_a_reset(
    fresh_home: tuple[Path, str], tmp_path: Path, since: int
) -> None:
    home, back = tmp_path / "home", tmp_path / "back"
    shutil.copytree(fresh_home[0], home)
    with served(make_dependencies(home), fresh_home[1]) as site, streaming(site) as line:
        change(site, 3)
        line.take(3)
        # Given a backup, and a reader that saw what happened after it
        write_backup(home, url_of(home), "0001", tmp_path / "backup", SystemClock().now())
        change(site, 20, "undone")
        line.take(20)

    # When the backup is restored, and other things happen, fewer or more than those
    back.mkdir()
    restore_backup(back, url_of(back), "0001", tmp_path / "backup", SystemClock().now())
    skip_change_numbers(url_of(back))
    with served(make_dependencies(back), fresh_home[1]) as again:
        change(again, since, "other")
        with streaming(again, line.last_id) as returned:
            [told] = returned.take(1)
            change(again, 1, "after")

            # Then the reader loads all of it anew, and goes on from there
            assert told.name == "reset"
            assert texts(returned.take(1)) == ["after 0"]


def test_two_readers_see_the_same(site: Site) -> None:
    with streaming(site, 0) as one, streaming(site, 0) as two:
        change(site, 20)
        assert one.take(20) == two.take(20)


@pytest.mark.case("B59")
def test_a_place_that_is_forgotten_leads_to_a_reset(site: Site) -> None:
    # Given changes whose beginning is gone
    change(site, 10)
    with site.writing() as scope:
        scope.change(scope.delete(changes).where(changes.c.seq <= 5))

    # When readers return with numbers from before, from the edge, and from the future
    with streaming(site, 3) as old:
        reset = old.take(1)
        change(site, 1, "later")
        after = old.take(1)
    with streaming(site, 5) as edge:
        rest = edge.take(6)
    with streaming(site, 4_000) as future:
        lost = future.take(1)

    # Then who missed something is told to load anew, and goes on from there
    assert [(sent.name, sent.seq, sent.data) for sent in reset] == [("reset", 10, {"seq": 10})]
    assert texts(after) == ["later 0"]
    assert [sent.seq for sent in rest] == [6, 7, 8, 9, 10, 11]
    assert [sent.name for sent in lost] == ["reset"]


def test_a_stream_ends_cleanly_when_the_process_is_asked_to_stop(fresh_home: tuple[Path, str], tmp_path: Path) -> None:
    # Given a hub with one reader
    dependencies = make_dependencies(fresh_home[0])
    hub = Hub(dependencies.database)
    reader = Reader(hub, dependencies.database, "ws_local", None, lambda: True)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.extend(reader))
    thread.start()
    until("the reader's first words", lambda: got)

    # When it stops
    hub.stop()

    # Then the stream ends by itself, and its place is free
    thread.join(10)
    assert not thread.is_alive()
    assert hub.open_streams == 0
    with pytest.raises(LoopwrightError):
        Reader(hub, dependencies.database, "ws_local", None, lambda: True)
    dependencies.database.close()


def test_there_is_a_most_number_of_streams_and_a_place_is_freed(fresh_home: tuple[Path, str]) -> None:
    dependencies = make_dependencies(fresh_home[0])
    hub = Hub(dependencies.database, most=1)
    first = Reader(hub, dependencies.database, "ws_local", None, lambda: True)

    with pytest.raises(LoopwrightError, match="1 is the most"):
        Reader(hub, dependencies.database, "ws_local", None, lambda: True)

    first.close()
    first.close()
    Reader(hub, dependencies.database, "ws_local", None, lambda: True).close()
    hub.stop()
    dependencies.database.close()


@pytest.mark.long
def test_a_silent_stream_says_that_it_lives(site: Site) -> None:
    with site.client.stream("GET", "/api/v1/events") as answer:
        said = next(line for line in answer.iter_lines() if line.startswith(":"))

    assert said == ": still here"


def test_a_number_that_is_none_is_refused(site: Site) -> None:
    answer = site.client.get("/api/v1/events", headers={"Last-Event-ID": "abc"})

    assert answer.status_code == 422


@pytest.mark.postgres
def test_many_writers_on_postgresql_are_seen_in_order(postgres_site: Site) -> None:
    # Given writers that overlap
    site, each = postgres_site, 40
    writers = [threading.Thread(target=change, args=(site, each, f"w{n}")) for n in range(5)]

    # When a reader follows from the start, over a broken line
    with streaming(site, 0) as line:
        for writer in writers:
            writer.start()
        seen = line.take(30)
    with streaming(site, seen[-1].seq) as line:
        seen += line.take(5 * each - 30)
    for writer in writers:
        writer.join(60)

    # Then nothing is missing and nothing came late
    assert [sent.seq for sent in seen] == list(range(1, 5 * each + 1))
    assert sorted(texts(seen)) == sorted(f"w{n} {i}" for n in range(5) for i in range(each))
