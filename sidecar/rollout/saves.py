"""Decide what a saved file means for its skill: a row in the book, a new candidate, or nothing new."""

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


def enter_file(standing: SkillState, file: SkillFile, *, moved: bool = True) -> skill.Skill:
    """The row, made where there is none, with the place of its file."""
    row = standing.look()
    place = (file.origin, str(file.path))
    if row is not None and ((row.origin, row.path) == place or not moved):
        return row
    with standing.tools.transaction("skill-entered") as scope:
        entered = skill.enter_skill(
            scope, standing.stem, origin=file.origin, path=str(file.path), enabled=file.origin != "shipped"
        )
        skill.save_skill(scope, replace(entered, origin=file.origin, path=str(file.path)))
    row = standing.look()
    assert row is not None
    return row


def consider_file(standing: SkillState, file: SkillFile) -> bool:
    """Take the file in; whether a version made of it is on its way.

    Raises UnavailableError where no process can be started for it.
    """
    row, serving = enter_file(standing, file), standing.serving
    if row.refused_sha == file.sha:
        return False
    if file.origin == "shipped" and _is_release_taken(standing, row, file):
        if standing.candidate is not None and standing.candidate.author == "shipped":
            _return_to_serving(standing)
        return standing.candidate is not None
    if serving is not None and serving.sha == file.sha:
        _return_to_serving(standing)
        return False
    if standing.candidate is None or standing.candidate.sha != file.sha:
        _take_in(standing, file)
    return True


def take_drafts(standing: SkillState) -> None:
    """Take in the agent's changes of a shipped skill: they are kept in the book, and the file stays.

    Raises UnavailableError where no process can be started for one.
    """
    while (row := standing.row) is not None and row.origin == "shipped":
        with standing.tools.reading() as scope:
            draft = drafts.find_pending_change(scope, standing.stem)
        if draft is None or draft.source is None:
            return
        if draft.sha != row.refused_sha:
            source = draft.source.encode("utf-8", "surrogatepass")
            _take_in(standing, SkillFile(standing.stem, Path(row.path), row.origin, source, draft.sha))
        with standing.tools.transaction("skill-draft-taken") as scope:
            drafts.close_draft(scope, draft)


def refuse_unreadable(standing: SkillState, file: SkillFile) -> None:
    """What the file holds cannot be seen: whatever serves goes on, and so does what is on its way."""
    problem = SkillProblem(None, f"{file.path} cannot be read: {file.trouble}", "let whoever runs Loopwright read it")
    if enter_file(standing, file, moved=False).problems != (problem,) and standing.candidate is None:
        standing.turn_down("", (problem,))


def refuse_clash(standing: SkillState, files: Sequence[SkillFile]) -> None:
    """Several files bear the name: none of them is taken, and whatever serves goes on."""
    places = " and ".join(str(file.path) for file in files)
    problem = SkillProblem(None, f"{places} are both called {standing.stem}", "rename one of them")
    if enter_file(standing, files[0], moved=False).problems != (problem,):
        standing.turn_down("", (problem,))


def _is_release_taken(standing: SkillState, row: skill.Skill, file: SkillFile) -> bool:
    """Whether a shipped file says nothing new; a candidate that was made of it is on its way yet."""
    if standing.candidate is not None and standing.candidate.sha == file.sha:
        return False
    with standing.tools.reading() as scope:
        return save_status.is_release_settled(scope, row, file.sha)


def _take_in(standing: SkillState, file: SkillFile) -> None:
    standing.processes.loading(file.sha)
    try:
        take_in_file(standing.tools, standing.processes, file, standing.url, standing.drop_unused)
        standing.look()
    except RefusedSkillError as error:
        standing.processes.loading("")
        standing.turn_down(file.sha, error.problems)
    finally:
        standing.processes.loading("")


def _return_to_serving(standing: SkillState) -> None:
    """The file holds again what serves."""
    row = standing.row
    if row is not None and (row.problems or row.candidate_id or row.refused_sha):
        with standing.tools.transaction("skill-as-before") as scope:
            promotion.clear_candidate(scope, standing.stem)
        standing.look()
        standing.drop_unused()
