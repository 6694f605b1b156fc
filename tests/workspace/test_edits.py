"""Edits by snippet: found alike but not the same, found in several places, or nothing to change."""

from __future__ import annotations

import time
import unicodedata

import pytest

from workspace.edits import AppliedEdits, RefusedEdits, TextEdit, UnchangedText, apply_edits

E = "e\u0301"
FACADE = f"“Fac\u0327ade de l’ho\u0302tel”\u00a0: d{E}tail  \nSecond line, “quoted”.\n\nLast.\u00a0\n"
STORYBOARD = "\n".join(f"## Shot {n}\nWide shot, dusk.\n" for n in range(1, 5))


def changed(text: str, *edits: TextEdit) -> str:
    outcome = apply_edits(text, edits)
    assert isinstance(outcome, AppliedEdits), outcome
    return outcome.text


def refused(text: str, *edits: TextEdit) -> RefusedEdits:
    outcome = apply_edits(text, edits)
    assert isinstance(outcome, RefusedEdits), outcome
    return outcome


def test_a_unique_snippet_is_replaced_and_nothing_else() -> None:
    outcome = apply_edits("one two three", [TextEdit("two", "2")])
    assert outcome == AppliedEdits("one 2 three", (1,), ())


@pytest.mark.case("B50")
@pytest.mark.parametrize(
    ("find", "replace", "expected"),
    [
        # straight quotes, composed accents and plain blanks for the author's own
        ('"Façade de l\'hôtel" : détail', '"Façade de l\'hôtel" : vue', FACADE.replace(f"d{E}tail", "vue")),
        ("l'hôtel\" :", "l'hôtel Royal\" :", FACADE.replace("ho\u0302tel”", "ho\u0302tel Royal”")),
        # blanks at a line end are a Markdown break: they stay with the line end
        ("détail\nSecond", "détail\nThird", FACADE.replace("Second", "Third")),
        (": détail\nSecond", ": vue\nSecond", FACADE.replace(f"d{E}tail", "vue")),
        ('détail\nSecond line, "quoted".', 'détail\nSecond line, "said".', FACADE.replace("quoted", "said")),
        ("détail\nSecond", "détail Second", FACADE.replace("  \nSecond", " Second")),
        ("Last.\n", "Last.\nMore.\n", FACADE + "More.\n"),
    ],
)
def test_an_alike_snippet_keeps_the_authors_hand_outside_the_change(find: str, replace: str, expected: str) -> None:
    assert find not in FACADE
    outcome = apply_edits(FACADE, [TextEdit(find, replace)])
    assert outcome == AppliedEdits(expected, (1,), (1,))


def test_an_exact_match_wins_over_those_that_are_alike() -> None:
    assert changed("it’s and it's", TextEdit("it's", "it is")) == "it’s and it is"


def test_alike_in_two_places_is_ambiguous() -> None:
    problem = refused("it’s a\nit‘s b", TextEdit("it's", "it is")).problems[0]
    assert (problem.reason, problem.count, [place.line for place in problem.places]) == ("ambiguous", 2, [1, 2])


@pytest.mark.parametrize(
    ("text", "find"),
    [
        (f"caf{E}", "cafe"),
        ("👨\u200d👩\u200d👧", "👩"),
        ("क\u093f", "क"),
        ("👍🏽", "👍"),
        ("“👩\u200d👧”", '"👩\u200d'),
    ],
)
def test_a_snippet_never_cuts_a_character_in_two(text: str, find: str) -> None:
    assert refused(text, TextEdit(find, "tea")).problems[0].reason == "missing"


def test_neither_case_nor_words_are_tolerated() -> None:
    for find in ("wide shot, dusk.", "Wide  shot, dusk.", "Wide shot – dusk."):
        assert refused(STORYBOARD, TextEdit(find, "x", all=True)).problems[0].reason == "missing"


@pytest.mark.boundary(49)
@pytest.mark.case("B50")
def test_a_missing_snippet_is_refused_with_the_nearest_text() -> None:
    problem = refused(
        STORYBOARD + "Close-up of the harbour at noon.", TextEdit("Close up on the harbour, noon", "x")
    ).problems[0]
    assert problem.reason == "missing"
    assert [(place.line, place.text) for place in problem.nearest] == [(12, "Close-up of the harbour at noon.")]
    assert "line 12" in problem.message


def test_nothing_near_is_said_as_such() -> None:
    problem = refused("abc", TextEdit("zzzzzzzzzz", "x")).problems[0]
    assert problem.nearest == ()
    assert "read the document again" in problem.message


@pytest.mark.boundary(49)
@pytest.mark.case("B51")
def test_a_snippet_in_several_places_is_refused_with_count_and_places() -> None:
    problem = refused(STORYBOARD, TextEdit("Wide shot, dusk.", "Close-up.")).problems[0]
    assert (problem.edit, problem.reason, problem.count) == (1, "ambiguous", 4)
    assert [(place.line, place.column, place.text) for place in problem.places] == [
        (line, 1, "Wide shot, dusk.") for line in (2, 5, 8, 11)
    ]
    assert "4 times (lines 2, 5, 8, 11)" in problem.message


@pytest.mark.boundary(49)
@pytest.mark.case("B51")
def test_one_bad_edit_of_two_changes_nothing() -> None:
    outcome = refused(STORYBOARD, TextEdit("## Shot 3", "## Shot 3b"), TextEdit("Wide shot, dusk.", "Close-up."))
    assert [problem.edit for problem in outcome.problems] == [2]


@pytest.mark.case("B51")
def test_all_changes_four_and_says_four() -> None:
    outcome = apply_edits(STORYBOARD, [TextEdit("Wide shot, dusk.", "Close-up.", all=True)])
    assert outcome == AppliedEdits(STORYBOARD.replace("Wide shot, dusk.", "Close-up."), (4,), ())


def test_more_context_finds_the_one_that_is_meant() -> None:
    result = changed(STORYBOARD, TextEdit("## Shot 3\nWide shot, dusk.", "## Shot 3\nClose-up."))
    assert result == STORYBOARD.replace("3\nWide shot, dusk.", "3\nClose-up.")


@pytest.mark.case("B50")
@pytest.mark.parametrize(
    "edits",
    [
        [TextEdit("Shot 2", "Shot 2")],
        [TextEdit("Shot 20", "Shot 2")],
        [TextEdit("Shot 2", "Shot 2\nWide shot, dusk.")],
        [TextEdit("Wide shot", "Wide shot, dusk", all=True)],
        [TextEdit("Shot 2", "Shot 2"), TextEdit("Shot 20", "Shot 2")],
    ],
)
def test_no_change_and_what_is_applied_already_are_told_as_nothing_changed(edits: list[TextEdit]) -> None:
    outcome = apply_edits(STORYBOARD, edits)
    assert isinstance(outcome, UnchangedText)
    assert len(outcome.notes) == len(edits)
    assert all(note.startswith("nothing changed") for note in outcome.notes)


@pytest.mark.parametrize(
    "edit",
    [
        TextEdit('"Façade de l\'hôtel" : détail', '"Façade de l\'hôtel" : vue'),
        TextEdit("l'hôtel", "l'hôtel Royal"),
        TextEdit("Second", "Second and third"),
    ],
)
def test_the_same_edit_twice_changes_once(edit: TextEdit) -> None:
    once = changed(FACADE, edit)
    assert isinstance(apply_edits(once, [edit]), UnchangedText)


def test_an_applied_edit_beside_a_fresh_one_refuses_both() -> None:
    outcome = refused("blue sky, red sea", TextEdit("green sky", "blue sky"), TextEdit("red sea", "dark sea"))
    assert [(problem.edit, problem.reason) for problem in outcome.problems] == [(1, "already")]


def test_edits_see_the_text_as_it_stands_and_may_swap() -> None:
    assert changed("a cat, a dog", TextEdit("cat", "dog"), TextEdit("dog", "cat")) == "a dog, a cat"


def test_overlapping_edits_are_refused() -> None:
    problem = refused("one two three", TextEdit("one two", "1 2"), TextEdit("two three", "2 3")).problems[0]
    assert (problem.reason, problem.edit) == ("overlap", 2)


def test_windows_line_ends_match_and_stay() -> None:
    text = "one\r\ntwo\r\nthree\r\n"
    assert changed(text, TextEdit("one\ntwo", "one\nand\ntwo")) == "one\r\nand\r\ntwo\r\nthree\r\n"
    assert changed(text, TextEdit("two", "two\nmore")) == "one\r\ntwo\r\nmore\r\nthree\r\n"


def test_a_text_in_decomposed_hangul_is_found() -> None:
    text = unicodedata.normalize("NFD", "서울 축제")
    assert changed(text, TextEdit("축제", "항구")) == unicodedata.normalize("NFD", "서울 ") + "항구"


def test_letters_keep_and_change_their_own_marks() -> None:
    text = "“किताब” और कल है"
    assert changed(text, TextEdit('"किताब" और कल है', '"किताब" और का है')) == "“किताब” और का है"
    assert changed("“कि”", TextEdit('"कि"', '"का"')) == "“का”"


@pytest.mark.parametrize("find", ["", "\u00a0\u00a0\u00a0"])
def test_an_empty_snippet_is_refused(find: str) -> None:
    assert refused("some text", TextEdit(find, "x")).problems[0].reason in {"empty", "missing"}


def test_an_overlapping_snippet_counts_every_place() -> None:
    assert refused("aaa", TextEdit("aa", "b")).problems[0].count == 2
    assert changed("aaaa", TextEdit("aa", "b", all=True)) == "bb"


@pytest.mark.parametrize(
    "edit",
    [
        TextEdit("a" * 100_000, "b"),
        TextEdit("a" * 99_999 + "b", "c"),
        TextEdit("a", "b" * 1000, all=True),
        TextEdit("a" * 100_001, "b"),
        TextEdit("’" * 50_000, "b"),
    ],
)
def test_a_hostile_edit_of_a_big_text_is_refused_in_bounded_time(edit: TextEdit) -> None:
    started = time.monotonic()
    refused("a" * 1_000_000, edit)
    assert time.monotonic() - started < 60


def test_a_big_text_is_edited_alike() -> None:
    text = "It’s a long story.\n" * 40_000 + "The end, d’accord.\n"
    assert changed(text, TextEdit("The end, d'accord.", "The very end, d'accord.")) == text.replace(
        "The end", "The very end"
    )
