"""What the answers to the cards of skills do."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cards.answers import AnswerHandler, CardAct
from runtime.statuses import CardKind
from skills.book.grants import answer_permission
from skills.book.outcomes import answer_choice
from skills.lifecycle.budget_card import RAISE_ACT, answer_budget_card
from skills.tools.retirement import RETIRE_ACT, answer_retire_card

SKILL_CARD_ANSWERS: Mapping[CardAct, AnswerHandler] = {
    (CardKind.PERMISSION, ""): answer_permission,
    (CardKind.CHOICE, ""): answer_choice,
    (CardKind.LIMIT, RAISE_ACT): answer_budget_card,
    (CardKind.IRREVERSIBLE, RETIRE_ACT): answer_retire_card,
}
