"""Callbacks about jobs: stored with the change, then signed and sent until the owner accepts them."""

import hashlib
import hmac
import json
import logging
import sqlite3
import threading
import time
from dataclasses import replace

import httpx

from standins.store import StandinStore
from standins.studio.config import StudioConfig
from standins.studio.job import StudioFailure, StudioJob, job_view
from standins.studio.request import StudioJobRequest

SIGNATURE = "X-Jobs-Signature"
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
TIMEOUT_SECONDS = 5.0
LOG = logging.getLogger(__name__)


def sign(key: str, at: int, body: bytes) -> str:
    """The value of X-Jobs-Signature: HMAC-SHA256 under the jobs key of the time, a dot and the raw body."""
    digest = hmac.new(key.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def store_callback(db: sqlite3.Connection, job: StudioJob) -> None:
    """Store the callback about a job's change, in the transaction that changed it.

    The job's faults may double it, withhold it or contradict it.
    """
    request = StudioJobRequest.model_validate_json(job.request)
    if request.callback_url is None or "no_callbacks" in job.faults:
        return
    news = [job]
    if "duplicate_callbacks" in job.faults:
        news.append(job)
    if job.state == "succeeded" and "late_progress_after_done" in job.faults:
        news.append(replace(job, state="running", progress=0.8, outputs=(), amount=None, sequence=job.sequence + 1))
        news.append(replace(job, state="queued", progress=0.0, outputs=(), amount=None, sequence=job.sequence + 2))
    if job.state == "succeeded" and "failed_after_done" in job.faults:
        contradiction = StudioFailure("fault", "said to have failed after it was done")
        news.append(
            replace(job, state="failed", outputs=(), amount=None, error=contradiction, sequence=job.sequence + 3)
        )
    for item in news:
        body = json.dumps({**job_view(item, ""), "sequence": item.sequence})
        db.execute("INSERT INTO callbacks (job_id, url, body) VALUES (?, ?, ?)", (job.id, request.callback_url, body))


class Courier:
    """Sends stored callbacks in one thread, oldest first.

    A callback that is refused or lost is sent again after growing pauses, and given up after the last of them.
    """

    def __init__(self, store: StandinStore, config: StudioConfig) -> None:
        self._store = store
        self._config = config
        self._bell = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="studio-courier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        """Wake the thread: there may be callbacks to send."""
        self._bell.set()

    def stop(self) -> None:
        self._stopped = True
        self._bell.set()
        self._thread.join(timeout=2 * TIMEOUT_SECONDS)

    def _run(self) -> None:
        with httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False) as client:
            while not self._stopped:
                self._bell.clear()
                try:
                    sent = self._send_next(client)
                except sqlite3.OperationalError:
                    LOG.exception("the studio's database cannot be used")
                    sent = False
                if not sent:
                    self._bell.wait(timeout=0.5)

    def _send_next(self, client: httpx.Client) -> bool:
        with self._store.read() as db:
            row = db.execute(
                "SELECT * FROM callbacks WHERE state = 'pending' AND next_at <= ? ORDER BY number LIMIT 1",
                (time.time(),),
            ).fetchone()
        if row is None:
            return False
        taken = self._send(client, row["url"], row["body"])
        attempts = row["attempts"] + 1
        state = "delivered" if taken else "given_up" if attempts > len(PAUSES) else "pending"
        next_at = time.time() + PAUSES[min(attempts, len(PAUSES)) - 1]
        with self._store.begin() as db:
            db.execute(
                "UPDATE callbacks SET state = ?, attempts = ?, next_at = ? WHERE number = ?",
                (state, attempts, next_at, row["number"]),
            )
        return True

    def _send(self, client: httpx.Client, url: str, stored: str) -> bool:
        news = json.loads(stored)
        for output in news["outputs"]:
            output["url"] = self._config.public_url.rstrip("/") + output["url"]
        body = json.dumps(news).encode()
        headers = {
            "Content-Type": "application/json",
            SIGNATURE: sign(self._config.jobs_key, int(self._config.clock.now().timestamp()), body),
        }
        try:
            answer = client.post(url, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            LOG.info("callback lost", extra={"job_id": news["id"], "reason": type(error).__name__})
            return False
        return answer.is_success
