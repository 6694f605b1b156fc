"""Durable function that sends a notice to the webhook of its channel."""

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
    """Trigger `notice/requested`. Step: `send`, which posts `{text, notice_id, task_id, audience, channel}`.

    A repeat has the same `Idempotency-Key`. The notices of a channel without a webhook are shown on the page only.
    """

    @client.create_function(fn_id="notify", trigger=inngest.TriggerEvent(event=NoticeRequested.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        request = parse_event(NoticeRequested, ctx.event)
        return str(ctx.step.run("send", as_step(lambda: send_notice(database, webhook_of, request))))

    return handler


def send_notice(database: Database, webhook_of: Callable[[str], str], request: NoticeRequested) -> str:
    """Post a notice, then record that it was sent; if that record is lost, it is posted again under the same key."""
    try:
        with database.reading(request.workspace_id) as scope:
            notice = notices.get_notice(scope, request.notice_id)
    except NotFoundError as error:
        return str(error)
    if notice.sent_at is not None:
        return "sent before"
    webhook = webhook_of(notice.channel)
    if webhook:
        _post(webhook, notice)
    with database.transaction(request.workspace_id, "notice.sent") as scope:
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
        # The original error would show the address, which may contain a secret.
        raise UnavailableError(f"the webhook of {notice.channel} did not answer: {type(error).__name__}") from None
    if answer.status_code >= 300:
        raise UnavailableError(f"the webhook of {notice.channel} answered {answer.status_code}")
