"""Drive turns step by step, as the durable function does it, without an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict

from core.llm.scripted_model import ScriptedModel
from core.tools import CallContext, Effect, Tool, ToolResult
from runtime.dependencies import InputSources, RuntimeDependencies
from runtime.inbox import inbox, messages
from runtime.inbox.turn_queue import queue_main_turn
from runtime.loop import decision, entry, tool_call, turn_end
from runtime.ports import OpenOrders
from runtime.statuses import InputKind, MessageState
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from runtime.tools.lookup import CheckCall, ListTasks, ReadBack, ReadTask
from runtime.tools.plan import CreateChecklist, Finish, SetBrief, UpdateChecklist
from runtime.tools.question import AskUser
from runtime.turns import rows
from runtime.turns.rows import Turn
from tests.support.databases import Store
from workspace.state import describe_object

LEASE = timedelta(seconds=30)


class NoteArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = ""


class Note:
    """A tool that counts how often its body ran; `during` is called inside it."""

    domain = "core"
    held_at_checkpoint = False
    description = "Take a note."
    arguments = NoteArguments

    def __init__(
        self,
        name: str = "note",
        *,
        effect: Effect = Effect.WRITE,
        repeatable: bool = True,
        during: Callable[[CallContext], None] = lambda _call: None,
    ) -> None:
        self.name = name
        self.effect = effect
        self.repeatable = repeatable
        self.during = during
        self.ran: list[str] = []

    def run(self, call: CallContext, arguments: NoteArguments) -> ToolResult:
        self.ran.append(call.call_id)
        self.during(call)
        return ToolResult({"noted": arguments.text})


def runtime_dependencies(
    store: Store,
    model: ScriptedModel,
    *tools: Tool,
    open_orders: OpenOrders = lambda scope, task_id: (),
) -> RuntimeDependencies:
    core: tuple[Tool, ...] = (SetBrief(), CreateChecklist(), UpdateChecklist({}), AskUser(), Finish())
    looking: tuple[Tool, ...] = (ReadTask(), ListTasks(), CheckCall(), ReadBack())
    inputs = InputSources({"outcome": lambda _scope, ref: {"kind": "outcome", "order_id": ref}}, describe_object)
    return RuntimeDependencies(
        database=store.database,
        model=model,
        task_tools=(*core, *looking, *tools),
        main_tools=looking,
        state_sources=(),
        inputs=inputs,
        open_orders=open_orders,
        lease=LEASE,
        patience=LEASE,
        pause=timedelta(seconds=10),
    )


def new_task(store: Store, goal: str = "Three posters", kind: str = "persistent") -> Task:
    with store.database.transaction(store.workspace_id) as scope:
        return tasks.create_task(
            scope,
            kind=kind,
            goal=goal,
            language="en",
            person_id=store.person_id,
            asked_by="person",
            cause=scope.ids.new("cause"),
        )


def post_words(
    store: Store, task_id: str, text: str, *, attachments: Sequence[str] = (), to_object_id: str | None = None
) -> str:
    """A person's message, received and delivered to a task; answers its id."""
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.receive_message(
            scope,
            person_id=store.person_id,
            asked_by="person",
            channel_id=None,
            text=text,
            attachments=attachments,
            to_task_id=task_id,
            to_object_id=to_object_id,
        )
        messages.set_message_state(
            scope, message.id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )
        inbox.deliver_input(scope, task_id, InputKind.MESSAGE, message.id)
    return message.id


def newest_turn(store: Store, task_id: str) -> Turn:
    with store.database.reading(store.workspace_id) as scope:
        return rows.list_turns_of_task(scope, task_id)[-1]


def get_turn(store: Store, turn_id: str) -> Turn:
    with store.database.reading(store.workspace_id) as scope:
        return rows.get_turn(scope, turn_id)


def get_task(store: Store, task_id: str) -> Task:
    with store.database.reading(store.workspace_id) as scope:
        return tasks.get_task(scope, task_id)


def get_message(store: Store, message_id: str) -> messages.Message:
    with store.database.reading(store.workspace_id) as scope:
        return messages.get_message(scope, message_id)


def drive_turn(made: RuntimeDependencies, store: Store, turn_id: str, run_id: str = "run-1", most: int = 20) -> str:
    """A whole run of a turn; answers the turn's status at its end."""
    ws = store.workspace_id
    first = entry.open_turn(made, ws, turn_id, run_id)
    if isinstance(first, str):
        return first
    for n in range(first, first + most):
        ends = (count := decision.decide_step(made, ws, turn_id, run_id, n).calls) == 0
        for seq in range(count):
            ends = tool_call.run_call(made, ws, turn_id, run_id, n, seq).ends or ends
        if ends:
            return turn_end.close_turn(made, ws, turn_id, run_id)
    raise AssertionError(f"the turn took more than {most} decisions")


def main_turn(store: Store, text: str, *, to_object_id: str | None = None) -> tuple[str, str]:
    """A person's message with Main's turn for it, queued; answers their ids."""
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.receive_message(
            scope,
            person_id=store.person_id,
            asked_by="person",
            channel_id=None,
            text=text,
            to_object_id=to_object_id,
        )
        messages.set_message_state(scope, message.id, MessageState.ROUTED, was=(MessageState.RECEIVED,))
        turn_id = queue_main_turn(scope, message)
    assert turn_id is not None
    return message.id, turn_id


@contextmanager
def recorded_statements() -> Iterator[list[str]]:
    """The SQL that the store's database runs inside the block, on all databases of this process, `BEGIN` aside."""
    ran: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            ran.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield ran
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
