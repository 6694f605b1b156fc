"""What an answered `clarify` card does: the message goes where the person said."""

from __future__ import annotations

from core.database import Scope
from core.errors import ConflictError
from router import recording
from router.asking import NEW
from router.handing import obstacle, to_new, to_task
from router.parts import Works
from router.sentences import sentence
from runtime import cards, messages, tasks
from runtime.cards import AnswerHandler, Card


def clarify_handler(works: Works) -> AnswerHandler:
    """The handler for cards of this kind; those that a worker opened go to the worker's task."""

    def handle(scope: Scope, card: Card) -> None:
        if card.message_id is None or card.task_id is not None:
            cards.deliver_answer(scope, card)
        else:
            _route(scope, works, card)

    return handle


def _route(scope: Scope, works: Works, card: Card) -> None:
    message = messages.get(scope, str(card.message_id))
    decided = recording.stored(scope, message.id)
    if message.state != "routed" or decided is None:
        # It was taken back after the question: the choice is recorded and moves nothing.
        return
    if card.answer_option == NEW:
        to_new(scope, works, message, decided, "persistent")
        return
    task_id = str(card.answer_option)
    wrong = obstacle(scope, task_id if task_id in card.subject["task_ids"] else None)
    if wrong is not None:
        raise ConflictError(sentence(message.language, *wrong), state=wrong[0])
    recording.revise(scope, message.id, "existing", task_id, "the person chose it on the card")
    to_task(scope, works, message, decided, tasks.get(scope, task_id))
