"""Every card that the product opens has an answer: a handler, or delivery to its task alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from app.compose import make_card_answers
from core.database import Scope
from generation.approval.card import MoneyCardKind
from runtime.cards.answers import AnswerHandler, CardAct, CardAnswers, deliver_card_answer
from runtime.cards.cards import Card, open_card
from runtime.statuses import CardKind
from runtime.tools.question import AskUserArguments
from skills.tools.change_card import CHANGE_ACT
from tests.support.databases import Store

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "core", "functions", "generation", "memory", "router", "runtime", "sidecar", "skills", "workspace")
DELIVERED_ONLY = {(CardKind.CHECKPOINT, ""), (CardKind.PERMISSION, CHANGE_ACT)}
"""Cards whose answer does nothing but reach the task: the turn reads it there."""
KINDS_IN_A_VARIABLE: dict[str, tuple[Any, ...]] = {
    "generation.approval.card": get_args(MoneyCardKind),
    "runtime.tools.question": get_args(AskUserArguments.model_fields["kind"].annotation),
}
"""The kinds that a module opens where the call names none itself."""


def test_every_card_that_is_opened_is_answered_and_no_answer_is_left_over() -> None:
    opened = {act for module, call in _calls_of_open_card() for act in _acts(module, call)}

    assert opened == make_card_answers().handlers.keys() | DELIVERED_ONLY
    assert not make_card_answers().handlers.keys() & DELIVERED_ONLY


def test_no_subject_names_an_act_where_the_other_test_does_not_see_it() -> None:
    seen = [ast.unparse(act) for _, call in _calls_of_open_card() if (act := _act_in(call)) is not None]
    subjects = [node for _, tree in _sources() for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    written = [ast.unparse(act) for subject in subjects if (act := _act_in(subject)) is not None]

    assert len(seen) >= 5
    assert sorted(seen) == sorted(written)


def test_two_rooms_that_handle_the_same_act_are_refused() -> None:
    one: dict[CardAct, AnswerHandler] = {(CardKind.CHOICE, "pick"): deliver_card_answer}
    other: dict[CardAct, AnswerHandler] = {(CardKind.CHOICE, "pick"): lambda scope, card: None}

    with pytest.raises(ValueError, match="two rooms handle the answer to a choice card with the act 'pick'"):
        CardAnswers.of(one, {(CardKind.CHOICE, ""): deliver_card_answer}, other)


@pytest.mark.parametrize(
    ("kind", "act", "handled_by"),
    [
        (CardKind.CHOICE, "pick", "the act"),
        (CardKind.CHOICE, "", "the kind alone"),
        # An act that is not known is not taken for a card without an act.
        (CardKind.CHOICE, "unheard of", None),
        (CardKind.CLARIFY, "pick", None),
        (CardKind.CLARIFY, "", None),
    ],
)
def test_an_answer_is_handled_by_exactly_its_kind_and_act(
    store: Store, kind: CardKind, act: str, handled_by: str | None
) -> None:
    handled: list[str] = []

    def note(name: str) -> Any:
        def handle(scope: Scope, card: Card) -> None:
            handled.append(name)

        return handle

    answers = CardAnswers.of(
        {(CardKind.CHOICE, "pick"): note("the act")}, {(CardKind.CHOICE, ""): note("the kind alone")}
    )
    with store.database.transaction(store.workspace_id) as scope:
        subject = {"act": act} if act else {}
        card = open_card(scope, kind=kind, title="t", body="", options=[], cause="c", subject=subject)
        answers.act_on(scope, card)

    assert handled == ([] if handled_by is None else [handled_by])


@cache
def _sources() -> tuple[tuple[str, ast.Module], ...]:
    files = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    return tuple((name, ast.parse(path.read_text())) for name, path in zip(names, files, strict=True))


def _calls_of_open_card() -> Iterator[tuple[str, ast.Call]]:
    for module, tree in _sources():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="open_card") | ast.Attribute(attr="open_card")):
                    yield module, node


def _acts(module: str, call: ast.Call) -> Iterator[CardAct]:
    named = import_module(module)
    act = _act_in(call)
    kind = _value(named, next(word.value for word in call.keywords if word.arg == "kind"))
    for one in KINDS_IN_A_VARIABLE[module] if kind is None else (kind,):
        yield one, "" if act is None else str(_value(named, act))


def _act_in(node: ast.AST) -> ast.expr | None:
    """The act in a subject that is written down as a dict, be it that of a call."""
    match node:
        case ast.Call(keywords=words):
            return next((act for word in words if word.arg == "subject" and (act := _act_in(word.value))), None)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "act"), None)
    return None


def _value(module: ModuleType, node: ast.expr) -> Any:
    """What a constant, or a name of the module, stands for; None for anything else."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return getattr(module, name, None)
        case ast.Attribute(value=owner, attr=name):
            return getattr(_value(module, owner), name, None)
    return None
