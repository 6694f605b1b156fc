"""Scopes of facts: one person, the whole workspace, or one task."""

from __future__ import annotations

from core.errors import InvalidError

WORKSPACE = "workspace"
_PERSON, _TASK = "person:", "task:"


def of_person(person_id: str) -> str:
    return f"{_PERSON}{person_id}"


def of_task(task_id: str) -> str:
    return f"{_TASK}{task_id}"


def scope_named(said: str, person_id: str, task_id: str | None) -> str:
    """Return the scope for `person`, `workspace` or `task`; raises InvalidError for others, or a task without id."""
    match said:
        case "person":
            return of_person(person_id)
        case "workspace":
            return WORKSPACE
        case "task" if task_id is not None:
            return of_task(task_id)
        case "task":
            raise InvalidError("it is said to hold for a task, and was not said in one")
        case _:
            raise InvalidError(f"{said[:40]!r} is no scope: a fact holds for the person, the workspace or the task")


def visible_scopes(person_id: str, task_id: str | None = None) -> tuple[str, ...]:
    """Return the scopes that a person may see, with that of a task when one is given."""
    own = (of_person(person_id), WORKSPACE)
    return own if task_id is None else (*own, of_task(task_id))


def may_see(scope: str, person_id: str) -> bool:
    """Tell whether a person may see facts of this scope: those of another person are private."""
    return not scope.startswith(_PERSON) or scope == of_person(person_id)


def scope_label(scope: str) -> str:
    """Return the scope as shown to people and programs: `person`, `workspace` or `task:ID`."""
    return "person" if scope.startswith(_PERSON) else scope
