"""Durable function that sends a notice to its channel's webhook."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import inngest

from core.database import Database
from core.errors import NotFoundError, UnavailableError
from core.events import NoticeRequested
from core.process import crash
from functions.shell import as_step, parse_event
from runtime import notices
from runtime.notices import Notice

_SECONDS = 15.0


def notify(client: inngest.Inngest, database: Database, webhook_of: Callable[[str], str]) -> inngest.Function[str]:
    """Trigger `notice/requested`. Posts `{text, notice_id, task_id, audience, channel}` to its channel's webhook.

    A repeat carries the same `Idempotency-Key`. A channel without a webhook has its notices on the page only.
    """

    @client.create_function(fn_id="notify", trigger=inngest.TriggerEvent(event=NoticeRequested.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        asked = parse_event(NoticeRequested, ctx.event)
        return str(ctx.step.run("send", as_step(lambda: send_notice(database, webhook_of, asked))))

    return handler


def send_notice(database: Database, webhook_of: Callable[[str], str], asked: NoticeRequested) -> str:
    """Post a notice and note that it was sent; a post whose note was lost is made again under the same key."""
    try:
        with database.reading(asked.workspace_id) as scope:
            notice = notices.get_notice(scope, asked.notice_id)
    except NotFoundError as error:
        return str(error)
    if notice.sent_at is not None:
        return "sent before"
    webhook = webhook_of(notice.channel)
    if webhook:
        _post(webhook, notice)
    with database.transaction(asked.workspace_id, "notice.sent") as scope:
        notices.mark_notice_sent(scope, notice.id)
    return "sent" if webhook else "shown"


def _post(webhook: str, notice: Notice) -> None:
    body = {
        "text": notice.text,
        "notice_id": notice.id,
        "task_id": notice.task_id,
        "audience": notice.audience,
        "channel": notice.channel,
    }
    try:
        with crash.around("webhook"):
            answer = httpx.post(
                webhook, json=body, headers={"Idempotency-Key": notice.id}, timeout=_SECONDS, follow_redirects=False
            )
    except httpx.HTTPError as error:
        # The error would show the address, which may hold a secret.
        raise UnavailableError(f"the webhook of {notice.channel} did not answer: {type(error).__name__}") from None
    if answer.status_code >= 300:
        raise UnavailableError(f"the webhook of {notice.channel} answered {answer.status_code}")
