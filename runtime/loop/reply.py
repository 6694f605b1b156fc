"""Reply at the end of a turn: sent to each place that the messages it has read came from."""

from __future__ import annotations

from collections.abc import Sequence

from core.database import Scope
from runtime.inbox import inbox, messages, replies
from runtime.inbox.messages import Message
from runtime.statuses import InputKind, MessageState
from runtime.tasks import tasks
from runtime.turns import ledger_queries
from runtime.turns.ledger import Call
from runtime.turns.rows import Turn


def send_reply(scope: Scope, turn: Turn) -> list[str]:
    """Send the text of the last step once to each place; return the ids of the messages that this turn has read."""
    steps = ledger_queries.list_steps(scope, [turn.id])
    if not steps:
        return []
    last = steps[-1]
    text = last.text.strip() or _finish_summary(ledger_queries.list_calls_of_step(scope, turn.id, last.n))
    read = _list_read_messages(scope, turn)
    if text:
        # A turn that has read no message reports to where the work was asked for, however many turns ago that was.
        before = None if read else inbox.find_last_message_read(scope, turn.task_id or "")
        for n, reply_to in enumerate(_last_of_each_place(read) or [before]):
            _send_to(scope, turn, text, reply_to, f"turn:{turn.id}" if n == 0 else f"turn:{turn.id}:{reply_to}")
    for message in read:
        messages.set_message_state(scope, message.id, MessageState.ANSWERED, was=(MessageState.CONSUMED,))
    return [message.id for message in read]


def _list_read_messages(scope: Scope, turn: Turn) -> list[Message]:
    """List the messages that the turn has read, in the order of reading."""
    if turn.task_id is None:
        return [messages.get_message(scope, turn.message_id or "")]
    read = [item.ref_id for item in inbox.list_read_by_turn(scope, turn.id) if item.kind == InputKind.MESSAGE]
    known = {message.id: message for message in messages.list_messages_by_ids(scope, read)}
    return [known[message_id] for message_id in read if message_id in known]


def _last_of_each_place(read: Sequence[Message]) -> list[str]:
    """Return the id of the last message from each place, the last of all first."""
    last: dict[replies.ReplyPlace, str] = {}
    for message in reversed(read):
        last.setdefault(replies.reply_place_of(message), message.id)
    return list(last.values())


def _send_to(scope: Scope, turn: Turn, text: str, reply_to: str | None, cause: str) -> None:
    # A message that is gone must not keep the reply from the task's own thread.
    original = next(iter(messages.list_messages_by_ids(scope, [reply_to] if reply_to else [])), None)
    task = None if turn.task_id is None else tasks.get_task(scope, turn.task_id)
    task_or_message = task or original
    assert task_or_message is not None
    # On a channel the reply goes to the author of the message; on the pages, to the person of the task.
    to = original if original is not None and original.channel_id is not None else task_or_message
    messages.store_agent_message(
        scope,
        person_id=to.person_id,
        text=text,
        task_id=turn.task_id,
        reply_to=reply_to,
        cause=cause,
        language=task_or_message.language,
        turn_id=turn.id,
    )


def _finish_summary(calls: Sequence[Call]) -> str:
    for call in calls:
        if call.tool == "finish" and call.ok and call.result is not None:
            return str(call.result.get("summary", ""))
    return ""
