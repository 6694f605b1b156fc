"""The workspace's tools: nothing is overwritten unseen, every effect happens once, deletion is asked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from pydantic import ValidationError

from core.database import Database
from core.errors import ConflictError, InvalidError, LostError, NotFoundError
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.tasks import tasks
from tests.workspace.calls import Turn
from tests.workspace.conftest import HOME, OTHER
from workspace import documents, objects, uploads
from workspace.access import WorkspaceAccess
from workspace.assets import Assets
from workspace.deleting import WORKSPACE_CARD_ANSWERS
from workspace.edits import TextEdit
from workspace.state import is_object_of_task, object_input, objects_state
from workspace.tools import workspace_tools

TEXT = "# Storyboard\n\nShot 2: harbour.\n\nShot 5: crowd.\n"


class Room:
    """A workspace with a person in it, and tasks."""

    def __init__(self, database: Database, assets: Assets) -> None:
        self.database = database
        self.assets = assets
        self.access = WorkspaceAccess(database, HOME)

    def turn(self, name: str = "task_a") -> Turn:
        return Turn(self.database, workspace_tools(self.assets), name)

    def text(self, object_id: str, version: int | None = None) -> str:
        with self.access.reading() as scope:
            return documents.read_document(self.assets, objects.get_object(scope, object_id, version))

    def person_saves(self, object_id: str, base_version: int, content: str) -> None:
        documents.rewrite_document(
            self.access,
            self.assets,
            object_id,
            base_version=base_version,
            content=content,
            created_by="person:ann",
            cause=f"save {object_id} {base_version}",
        )

    def versions(self, object_id: str) -> list[int]:
        with self.access.reading() as scope:
            return [version.version for version in objects.list_versions(scope, object_id)]


@pytest.fixture
def room(database: Database, assets: Assets) -> Room:
    return Room(database, assets)


def written(turn: Turn, content: str = TEXT, title: str = "Storyboard") -> str:
    return str(turn.call("write_document", title=title, content=content).content["object"]["id"])


def test_a_document_is_written_read_and_listed(room: Room) -> None:
    turn = room.turn()
    object_id = written(turn)
    told = turn.call("read_object", object_id=object_id).content
    assert (told["content"], told["page"], told["pages"]) == (TEXT, 1, 1)
    assert told["object"]["media_type"] == "text/markdown"
    listed = turn.call("list_objects", kind="document", query="story").content
    assert [work["id"] for work in listed["objects"]] == [object_id]
    assert turn.call("list_objects", kind="image").content["objects"] == []


def test_a_call_made_again_finds_what_it_made(room: Room) -> None:
    turn = room.turn()
    first = turn.call("write_document", title="A", content="one")
    object_id = first.content["object"]["id"]
    edited = turn.call("edit_document", object_id=object_id, edits=[{"find": "one", "replace": "two"}])
    assert turn.call("write_document", again=1, title="A", content="one").content["object"]["id"] == object_id
    replayed = turn.call("edit_document", again=2, object_id=object_id, edits=[{"find": "one", "replace": "two"}])
    assert replayed.content["object"] == edited.content["object"]
    assert room.versions(object_id) == [2, 1]
    rewritten = turn.call("write_document", object_id=object_id, base_version=2, title="A", content="three")
    again = turn.call("write_document", again=3, object_id=object_id, base_version=2, title="A", content="three")
    assert again == rewritten
    collected = turn.call("collect", title="Set", object_ids=[object_id])
    assert turn.call("collect", again=4, title="Set", object_ids=[object_id]) == collected
    restored = turn.call("restore_version", object_id=object_id, version=1)
    assert turn.call("restore_version", again=5, object_id=object_id, version=1) == restored
    assert room.versions(object_id) == [4, 3, 2, 1]
    assert room.text(object_id) == "one"


def test_an_execution_that_lost_its_turn_writes_nothing(room: Room) -> None:
    turn = room.turn()
    object_id = written(turn)
    turn.hold.lost = True
    calls: dict[str, dict[str, Any]] = {
        "write_document": {"title": "B", "content": "x"},
        "edit_document": {"object_id": object_id, "edits": [{"find": "crowd", "replace": "x"}]},
        "collect": {"title": "Set", "object_ids": [object_id]},
        "restore_version": {"object_id": object_id, "version": 1},
        "delete_object": {"object_id": object_id},
        "read_object": {"object_id": object_id},
    }
    for name, arguments in calls.items():
        with pytest.raises(LostError):
            turn.call(name, **arguments)
    assert room.versions(object_id) == [1]
    with room.access.reading() as scope:
        assert len(objects.list_objects(scope).items) == 1
        assert cards.list_open_cards(scope) == []


@pytest.mark.boundary(48, 50)
@pytest.mark.case("B52")
def test_nothing_of_another_is_overwritten(room: Room) -> None:
    # given two tasks that read version 1, after which the person saves shot 2
    author, a, b = room.turn("author"), room.turn("a"), room.turn("b")
    object_id = written(author)
    a.call("read_object", object_id=object_id)
    b.call("read_object", object_id=object_id)
    by_person = TEXT.replace("harbour", "lighthouse")
    room.person_saves(object_id, 1, by_person)
    # when one rewrites from what it read, then it is refused and told of version 2
    with pytest.raises(ConflictError, match="version 2") as refused:
        a.call("write_document", object_id=object_id, base_version=1, title="Storyboard", content="mine")
    assert refused.value.facts()["current_version"] == 2
    # and it cannot name a version that it never read
    with pytest.raises(ConflictError, match="has not read"):
        a.call("write_document", object_id=object_id, base_version=2, title="Storyboard", content="mine")
    # when the other edits shot 5 by snippet, then the edit lands on version 2
    told = b.call("edit_document", object_id=object_id, edits=[{"find": "crowd", "replace": "dancers"}]).content
    assert (told["object"]["version"], told["base_version"], told["places_changed"]) == (3, 2, [1])
    assert "since you read version 1" in told["note"]
    assert room.text(object_id) == by_person.replace("crowd", "dancers")
    # and that edit does not let it rewrite what it has not read
    with pytest.raises(ConflictError, match="has not read"):
        b.call("write_document", object_id=object_id, base_version=3, title="Storyboard", content="mine")
    b.call("read_object", object_id=object_id)
    b.call("write_document", object_id=object_id, base_version=3, title="Storyboard", content="mine")
    assert room.versions(object_id) == [4, 3, 2, 1]


def test_a_task_edits_only_what_it_has_read(room: Room) -> None:
    object_id = written(room.turn("author"))
    with pytest.raises(ConflictError, match="read object_"):
        room.turn("other").call("edit_document", object_id=object_id, edits=[{"find": "crowd", "replace": "x"}])
    assert room.versions(object_id) == [1]


def test_a_whole_text_needs_the_version_it_is_based_on(room: Room) -> None:
    turn = room.turn()
    with pytest.raises(InvalidError, match="base_version"):
        turn.call("write_document", object_id=written(turn), title="A", content="x")


@pytest.mark.boundary(49)
@pytest.mark.case("B51")
def test_a_failed_edit_tells_why_and_changes_nothing(room: Room) -> None:
    turn = room.turn()
    object_id = written(turn, "Wide shot, dusk.\n" * 4)
    edits = [{"find": "Wide shot, dusk.\nWide", "replace": "x"}, {"find": "Wide shot, dusk.", "replace": "Close-up."}]
    with pytest.raises(ConflictError, match="4 times") as refused:
        turn.call("edit_document", object_id=object_id, edits=edits)
    facts = refused.value.facts()
    assert facts["current_version"] == 1
    assert [(c["edit"], c["reason"], c["count"]) for c in facts["conflicts"]] == [  # type: ignore[attr-defined]
        (1, "ambiguous", 3),
        (2, "ambiguous", 4),
    ]
    told = turn.call("edit_document", object_id=object_id, edits=[{**edits[1], "all": True}]).content
    assert told["places_changed"] == [4]
    assert room.versions(object_id) == [2, 1]


def test_no_change_is_said_and_makes_no_version(room: Room) -> None:
    turn = room.turn()
    object_id = written(turn)
    told = turn.call("edit_document", object_id=object_id, edits=[{"find": "crowd", "replace": "crowd"}]).content
    assert told["changed"] is False
    assert "nothing changed" in told["notes"][0]
    again: dict[str, Any] = {"object_id": object_id, "base_version": 1, "title": "Storyboard", "content": TEXT}
    assert turn.call("write_document", **again).content["changed"] is False
    assert room.versions(object_id) == [1]
    assert turn.call("write_document", **{**again, "title": "Renamed"}).content["changed"] is True
    with room.access.reading() as scope:
        assert [version.title for version in objects.list_versions(scope, object_id)] == ["Renamed", "Storyboard"]


@pytest.mark.boundary(50)
def test_edits_from_two_sides_at_once_both_land(room: Room) -> None:
    author = room.turn("author")
    object_id = written(author, "\n".join(f"Shot {n}: todo." for n in range(8)))
    turns = [room.turn(f"task_{n}") for n in range(2)]
    for turn in turns:
        turn.call("read_object", object_id=object_id)
    start = Barrier(2)

    def edit(n: int) -> None:
        start.wait(timeout=20)
        for shot in range(n, 8, 2):
            turns[n].call(
                "edit_document",
                object_id=object_id,
                edits=[{"find": f"Shot {shot}: todo.", "replace": f"Shot {shot}: done."}],
            )

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(edit, range(2)))
    assert room.text(object_id) == "\n".join(f"Shot {n}: done." for n in range(8))
    assert room.versions(object_id) == list(range(9, 0, -1))


def test_a_long_document_is_read_by_pages(room: Room) -> None:
    turn = room.turn()
    text = "".join(f"Line {n} of the long script, naïvely.\n" for n in range(2000))
    object_id = written(turn, text)
    first = turn.call("read_object", object_id=object_id).content
    read = [turn.call("read_object", object_id=object_id, page=n + 1).content for n in range(first["pages"])]
    assert "".join(page["content"] for page in read) == text
    assert all(len(page["content"]) <= 10_000 for page in read)
    with pytest.raises(InvalidError, match=f"the last is {first['pages']}"):
        turn.call("read_object", object_id=object_id, page=first["pages"] + 1)


@pytest.mark.parametrize("content", ["\0", "\ud800", "x" * 1_000_001])
def test_what_is_no_text_is_refused(room: Room, content: str) -> None:
    with pytest.raises(InvalidError):
        room.turn().call("write_document", title="A", content=content)


def test_a_picture_is_described_and_not_edited(room: Room) -> None:
    turn = room.turn()
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 20
    work = uploads.upload_object(
        room.access, room.assets, png, title="../logo.png", created_by="person:ann", cause="up"
    )
    told = turn.call("read_object", object_id=work.id).content
    assert (told["object"]["kind"], told["object"]["media_type"]) == ("image", "image/png")
    assert "content" not in told
    with pytest.raises(InvalidError, match="not text"):
        turn.call("edit_document", object_id=work.id, edits=[{"find": "a", "replace": "b"}])
    with pytest.raises(InvalidError, match="not text"):
        turn.call("write_document", object_id=work.id, base_version=1, title="A", content="b")
    with pytest.raises(InvalidError, match="of kind document, not image"):
        uploads.upload_object(room.access, room.assets, b"text", title="A", created_by="p", cause="2", kind="image")
    with pytest.raises(InvalidError, match="is of kind image"):
        uploads.replace_object(room.access, room.assets, work.id, b"text", base_version=1, created_by="p", cause="3")


def test_a_collection_names_its_objects_in_order(room: Room) -> None:
    turn = room.turn()
    ids = [written(turn, title=f"Poster {n}") for n in range(3)]
    made = turn.call("collect", title="Set", object_ids=[ids[2], ids[0], ids[2]]).content["object"]
    with room.access.transaction() as scope:
        objects.delete_object(scope, ids[0], version=1)
    told = turn.call("read_object", object_id=made["id"]).content
    assert [(i["object_id"], i["version"], i["title"], i["deleted"]) for i in told["items"]] == [
        (ids[2], 1, "Poster 2", False),
        (ids[0], 1, None, True),
    ]
    with pytest.raises(NotFoundError, match="object_nowhere"):
        turn.call("collect", title="Set", object_ids=[ids[1], "object_nowhere"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_object", {}),
        ("read_object", {"object_id": "x", "page": 0}),
        ("read_object", {"object_id": "x", "workspace_id": "workspace_2"}),
        ("list_objects", {"kind": "spreadsheet"}),
        ("edit_document", {"object_id": "x", "edits": []}),
        ("collect", {"title": "x", "object_ids": []}),
        ("write_document", {"title": "x", "content": "y", "base_version": 10**30}),
    ],
)
def test_arguments_that_cannot_be_are_refused(room: Room, tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        room.turn().call(tool, **arguments)


def test_objects_of_another_workspace_are_not_there(room: Room) -> None:
    foreign = documents.write_document(
        WorkspaceAccess(room.database, OTHER),
        room.assets,
        title="Theirs",
        content="secret",
        created_by="person:bob",
        cause="1",
    )
    turn = room.turn()
    calls: list[Callable[[], object]] = [
        lambda: turn.call("read_object", object_id=foreign.id),
        lambda: turn.call("edit_document", object_id=foreign.id, edits=[{"find": "s", "replace": "t"}]),
        lambda: turn.call("write_document", object_id=foreign.id, base_version=1, title="A", content="b"),
        lambda: turn.call("collect", title="Set", object_ids=[foreign.id]),
        lambda: turn.call("restore_version", object_id=foreign.id, version=1),
        lambda: turn.call("delete_object", object_id=foreign.id),
    ]
    for call in calls:
        with pytest.raises((NotFoundError, ConflictError)) as refused:
            call()
        assert "Theirs" not in str(refused.value)


@pytest.mark.boundary(51, 52)
def test_twenty_saves_are_one_notice_until_the_task_reads(room: Room) -> None:
    turn = room.turn()
    object_id = written(turn)
    with room.access.reading() as scope:
        assert objects_state(scope, "task_a")["changes"] == []
    for n in range(1, 21):
        room.person_saves(object_id, n, f"{TEXT}{n}")
    with room.access.reading() as scope:
        state = objects_state(scope, "task_a")
        assert objects.check_current(scope, object_id, None).version == 21
        with pytest.raises(ConflictError, match="from version 1 to 21"):
            objects.check_current(scope, object_id, "task_a")
    assert state["changes"] == [{"object_id": object_id, "from": 1, "to": 21}]
    assert [(work["id"], work["version"], work["changed"]) for work in state["objects"]] == [(object_id, 21, True)]
    turn.call("read_object", object_id=object_id)
    with room.access.reading() as scope:
        assert objects_state(scope, "task_a")["changes"] == []
        assert objects.check_current(scope, object_id, "task_a").version == 21


def test_a_handed_object_is_known_as_it_was_handed(room: Room) -> None:
    object_id = written(room.turn("author"))
    with room.access.transaction() as scope:
        objects.link_object(scope, object_id, "task_b")
    room.person_saves(object_id, 1, "two")
    with room.access.transaction() as scope:
        objects.link_object(scope, object_id, "task_b")
        assert objects_state(scope, "task_b")["changes"] == [{"object_id": object_id, "from": 1, "to": 2}]
        assert objects.get_object(scope, object_id).task_ids == ("author", "task_b")
        assert [work["id"] for work in objects_state(scope, None)["objects"]] == [object_id]
        assert is_object_of_task(scope, object_id, "task_b")
        assert not is_object_of_task(scope, object_id, "task_c")
        assert not is_object_of_task(scope, "order_1", "task_b")
        assert object_input(scope, f"{object_id}:1") == {
            "kind": "object",
            "object_id": object_id,
            "version": 1,
            "title": "Storyboard",
        }
        assert object_input(scope, object_id)["version"] == 2
        objects.delete_object(scope, object_id, version=2)
        assert object_input(scope, object_id) == {"kind": "object", "object_id": object_id, "deleted": True}


def asked(room: Room) -> tuple[str, str, Turn]:
    """An object and the open card that asks for its deletion."""
    with room.access.transaction() as scope:
        task = tasks.create_task(
            scope, kind="persistent", goal="tidy", language="en", person_id="ann", asked_by="person", cause="m"
        )
    turn = room.turn(task.id)
    object_id = written(turn)
    told = turn.call("delete_object", object_id=object_id).content
    assert told["state"] == "waiting_for_approval"
    assert turn.call("delete_object", again=2, object_id=object_id).content == told
    return object_id, str(told["card_id"]), turn


def answer(room: Room, card_id: str, option: str) -> None:
    with room.access.transaction() as scope:
        answer_card(scope, card_id, option, None, "ann", CardAnswers(WORKSPACE_CARD_ANSWERS))


def test_deletion_is_asked_with_the_stored_facts_and_done_when_confirmed(room: Room) -> None:
    object_id, card_id, _ = asked(room)
    with room.access.reading() as scope:
        card = cards.get_card(scope, card_id)
        objects.get_object(scope, object_id)
    assert card.kind == "irreversible"
    assert [option["id"] for option in card.options] == ["confirm", "keep"]
    assert (card.subject["object_id"], card.subject["version"], card.subject["versions"]) == (object_id, 1, 1)
    answer(room, card_id, "confirm")
    with room.access.reading() as scope, pytest.raises(NotFoundError, match="was deleted"):
        objects.get_object(scope, object_id)


def test_a_kept_object_stays(room: Room) -> None:
    object_id, card_id, _ = asked(room)
    answer(room, card_id, "keep")
    assert room.versions(object_id) == [1]


def test_a_confirmation_does_not_cover_a_newer_version(room: Room) -> None:
    object_id, card_id, _ = asked(room)
    room.person_saves(object_id, 1, "worth keeping")
    with pytest.raises(ConflictError, match="at version 2 now"):
        answer(room, card_id, "confirm")
    assert room.text(object_id) == "worth keeping"
    answer(room, card_id, "keep")
    assert room.versions(object_id) == [2, 1]


def test_a_person_edits_in_one_transaction_what_was_prepared_before(room: Room) -> None:
    object_id = written(room.turn())
    prepared = documents.prepare_edit(room.access, room.assets, object_id, [TextEdit("crowd", "dancers")])
    with room.access.transaction() as scope:
        edited = documents.put_edit(scope, prepared, created_by="person:ann", cause="1")
    assert (edited.object.version, edited.counts) == (2, (1,))
    with room.access.transaction() as scope, pytest.raises(ConflictError) as refused:
        documents.put_edit(scope, prepared, created_by="person:ann", cause="2")
    assert refused.value.facts()["current_version"] == 2
