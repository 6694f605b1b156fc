"""What a saved file means for its skill: a place in the book, a version on its way, or nothing new."""

from __future__ import annotations

from dataclasses import replace

from sidecar.folders import SkillFile
from sidecar.intake import take_in
from sidecar.standing import Standing
from skills import book, promotion
from skills.problem import Problem, RefusedSkillError


def enter(standing: Standing, file: SkillFile, *, moved: bool = True) -> book.Skill:
    """The row, made where there is none, with the place of its file."""
    row = standing.look()
    place = (file.origin, str(file.path))
    if row is not None and ((row.origin, row.path) == place or not moved):
        return row
    with standing.tools.transaction("skill-entered") as scope:
        entered = book.enter(
            scope, standing.stem, origin=file.origin, path=str(file.path), enabled=file.origin != "shipped"
        )
        book.save(scope, replace(entered, origin=file.origin, path=str(file.path)))
    row = standing.look()
    assert row is not None
    return row


def consider(standing: Standing, file: SkillFile) -> bool:
    """Take the file in; whether a version made of it is on its way.

    Raises UnavailableError where no process can be started for it.
    """
    row, serving = enter(standing, file), standing.serving
    if row.refused_sha == file.sha:
        return False
    if serving is not None and serving.sha == file.sha:
        _back_to_serving(standing)
        return False
    if standing.candidate is None or standing.candidate.sha != file.sha:
        _take_in(standing, file)
    return True


def clash(standing: Standing, files: list[SkillFile]) -> None:
    """Several files bear the name: none of them is taken, and whatever serves goes on."""
    places = " and ".join(str(file.path) for file in files)
    problem = Problem(None, f"{places} are both called {standing.stem}", "rename one of them")
    if enter(standing, files[0], moved=False).problems != (problem,):
        standing.turn_down("", (problem,))


def _take_in(standing: Standing, file: SkillFile) -> None:
    standing.processes.loading(file.sha)
    try:
        take_in(standing.tools, standing.processes, file, standing.url, standing.drop_unused)
        standing.look()
    except RefusedSkillError as error:
        standing.processes.loading("")
        standing.turn_down(file.sha, error.problems)
    finally:
        standing.processes.loading("")


def _back_to_serving(standing: Standing) -> None:
    """The file holds again what serves."""
    row = standing.row
    if row is not None and (row.problems or row.candidate_id or row.refused_sha):
        with standing.tools.transaction("skill-as-before") as scope:
            promotion.as_before(scope, standing.stem)
        standing.look()
        standing.drop_unused()
