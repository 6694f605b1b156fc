"""What the answers to the cards of the memory do."""

from __future__ import annotations

from collections.abc import Mapping

from memory.correcting import CORRECT_ACT, answer_correction_card
from memory.forgetting import FORGET_ACT, answer_forget_card
from runtime.cards.answers import AnswerHandler, CardAct

MEMORY_CARD_ANSWERS: Mapping[CardAct, AnswerHandler] = {
    ("irreversible", FORGET_ACT): answer_forget_card,
    ("choice", CORRECT_ACT): answer_correction_card,
}
