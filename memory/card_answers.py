"""Handlers of answers to the cards of the memory."""

from __future__ import annotations

from collections.abc import Mapping

from memory.correcting import CORRECT_ACT, answer_correction_card
from memory.forgetting import FORGET_ACT, answer_forget_card
from runtime.cards.answers import AnswerHandler, CardAct
from runtime.statuses import CardKind

MEMORY_CARD_ANSWERS: Mapping[CardAct, AnswerHandler] = {
    (CardKind.IRREVERSIBLE, FORGET_ACT): answer_forget_card,
    (CardKind.CHOICE, CORRECT_ACT): answer_correction_card,
}
