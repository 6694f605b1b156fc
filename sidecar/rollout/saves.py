"""Decide what a saved file means for its skill: a new row in the book, a new candidate, or nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sidecar.rollout.intake import take_in_file
from sidecar.rollout.state import SkillState
from sidecar.watch.folders import SkillFile
from skills.book import drafts, skill
from skills.format.problem import RefusedSkillError, SkillProblem
from skills.lifecycle import promotion, save_status


def enter_file(state: SkillState, file: SkillFile, *, moved: bool = True) -> skill.Skill:
    """Return the skill's row, made if there is none, with the place of its file.

    With `moved` False, an existing row keeps its place.
    """
    row = state.read_book()
    place = (file.origin, str(file.path))
    if row is not None and ((row.origin, row.path) == place or not moved):
        return row
    with state.dependencies.transaction("skill-entered") as scope:
        entered = skill.enter_skill(
            scope, state.stem, origin=file.origin, path=str(file.path), enabled=file.origin != "shipped"
        )
        skill.save_skill(scope, replace(entered, origin=file.origin, path=str(file.path)))
    row = state.read_book()
    assert row is not None
    return row


def consider_file(state: SkillState, file: SkillFile) -> bool:
    """Take the file in if it is new; return whether the rollout may have a move to make.

    It has none where the file was refused while it was taken in; the answer is True then too. Raises UnavailableError
    where no process can be started.
    """
    row, serving = enter_file(state, file), state.serving
    if row.refused_sha == file.sha:
        return False
    if file.origin == "shipped" and _is_release_taken(state, row, file):
        if state.candidate is not None and state.candidate.author == "shipped":
            _return_to_serving(state)
        return state.candidate is not None
    if serving is not None and serving.sha == file.sha:
        _return_to_serving(state)
        return False
    if state.candidate is None or state.candidate.sha != file.sha:
        _take_in(state, file)
    return True


def take_drafts(state: SkillState) -> None:
    """Take in the agent's changes of a shipped skill. They are kept in the book; the shipped file stays as it is.

    Raises UnavailableError where no process can be started.
    """
    while (row := state.row) is not None and row.origin == "shipped":
        with state.dependencies.reading() as scope:
            draft = drafts.find_pending_change(scope, state.stem)
        if draft is None or draft.source is None:
            return
        if draft.sha != row.refused_sha:
            source = draft.source.encode("utf-8", "surrogatepass")
            _take_in(state, SkillFile(state.stem, Path(row.path), row.origin, source, draft.sha))
        with state.dependencies.transaction("skill-draft-taken") as scope:
            drafts.close_draft(scope, draft)


def refuse_unreadable(state: SkillState, file: SkillFile) -> None:
    """Record that the file cannot be read; what serves and what is being rolled out go on."""
    problem = SkillProblem(
        None, f"{file.path} cannot be read: {file.trouble}", "give the user that runs Loopwright permission to read it"
    )
    if enter_file(state, file, moved=False).problems != (problem,) and state.candidate is None:
        state.refuse("", (problem,))


def refuse_clash(state: SkillState, files: Sequence[SkillFile]) -> None:
    """Record that several files have the skill's name: none of them is taken, and what serves goes on."""
    places = " and ".join(str(file.path) for file in files)
    problem = SkillProblem(None, f"{places} are both called {state.stem}", "rename one of them")
    if enter_file(state, files[0], moved=False).problems != (problem,):
        state.refuse("", (problem,))


def _is_release_taken(state: SkillState, row: skill.Skill, file: SkillFile) -> bool:
    """Return whether a shipped file was dealt with before; not while a candidate made of it is being rolled out."""
    if state.candidate is not None and state.candidate.sha == file.sha:
        return False
    with state.dependencies.reading() as scope:
        return save_status.is_release_settled(scope, row, file.sha)


def _take_in(state: SkillState, file: SkillFile) -> None:
    state.processes.mark_loading(file.sha)
    try:
        take_in_file(state.dependencies, state.processes, file, state.url, state.drop_unused)
        state.read_book()
    except RefusedSkillError as error:
        # First, so that the refusal also ends the process that loaded the file.
        state.processes.mark_loading("")
        state.refuse(file.sha, error.problems)
    finally:
        state.processes.mark_loading("")


def _return_to_serving(state: SkillState) -> None:
    """Drop the candidate and the problems: the file holds again what serves."""
    row = state.row
    if row is not None and (row.problems or row.candidate_id or row.refused_sha):
        with state.dependencies.transaction("skill-as-before") as scope:
            promotion.clear_candidate(scope, state.stem)
        state.read_book()
        state.drop_unused()
