"""The threads that make ordered jobs."""

import logging
import os
import sqlite3
import threading
import time
from contextlib import suppress
from decimal import Decimal

from standins.store import StandinStore
from standins.studio import ledger
from standins.studio.blobs import Blobs
from standins.studio.callbacks import Courier
from standins.studio.catalog import offer_named
from standins.studio.config import StudioConfig
from standins.studio.inputs import InputUnavailable, gather
from standins.studio.job import StudioFailure, StudioJob, StudioOutput
from standins.studio.media.make import make_media
from standins.studio.media.product import UnusableInput
from standins.studio.progress import JobHasEnded, StudioProgress
from standins.studio.request import StudioJobRequest

THREADS = 2
NICENESS = 5
LOG = logging.getLogger(__name__)


class Workshop:
    """Takes queued jobs, oldest first, makes them at low priority, and records how each ended."""

    def __init__(self, store: StandinStore, config: StudioConfig, courier: Courier, kept: Blobs, made: Blobs) -> None:
        self._store = store
        self._config = config
        self._courier = courier
        self._kept = kept
        self._made = made
        self._bell = threading.Condition()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._run, name=f"studio-maker-{number}", daemon=True) for number in range(THREADS)
        ]

    def start(self) -> None:
        """Free the jobs that a killed process left, then start the threads."""
        with self._store.begin() as db:
            ledger.requeue_unfinished(db, self._config.clock.now())
        for thread in self._threads:
            thread.start()

    def ring(self) -> None:
        """Wake a thread: there may be a job to make."""
        with self._bell:
            self._bell.notify()

    def stop(self) -> None:
        """Stop after the step at hand; unfinished jobs are taken up at the next start."""
        self._closing = True
        with self._bell:
            self._bell.notify_all()
        for thread in self._threads:
            thread.join(timeout=10)

    def _run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while not self._closing:
            try:
                worked = self._work()
            except sqlite3.OperationalError:
                # For example a full disk: nothing was stored, and it may pass.
                LOG.exception("the studio's database cannot be used")
                worked = False
            if not worked:
                with self._bell:
                    self._bell.wait(timeout=0.5)

    def _work(self) -> bool:
        with self._store.begin() as db:
            job = ledger.claim_job(db, self._config.clock.now())
        if job is None:
            return False
        try:
            self._make(job)
        except sqlite3.OperationalError:
            self._let_go(job)
            raise
        return True

    def _let_go(self, job: StudioJob) -> None:
        """Free a job whose end could not be stored, as soon as the database can be written again."""
        while not self._closing:
            with suppress(sqlite3.OperationalError), self._store.begin() as db:
                ledger.release_job(db, job.id)
                return
            time.sleep(0.5)

    def _make(self, job: StudioJob) -> None:
        try:
            outputs = self._outputs(job)
        except JobHasEnded:
            return
        except InputUnavailable as error:
            self._fail(job, StudioFailure("input_unavailable", str(error)))
        except UnusableInput as error:
            self._fail(job, StudioFailure(error.code, str(error)))
        except sqlite3.OperationalError:
            raise
        except Exception:
            # The boundary of a job: any error ends this job and no other.
            LOG.exception("job failed", extra={"job_id": job.id})
            self._fail(job, StudioFailure("internal", "the studio could not make this; the reason is in its log"))
        else:
            self._succeed(job, outputs)

    def _outputs(self, job: StudioJob) -> list[StudioOutput]:
        request = StudioJobRequest.model_validate_json(job.request)
        progress = StudioProgress(
            lambda step: self._advance(job, step), lambda: self._closing, self._config.pace_of(request.kind)
        )
        progress.reach(0.1)
        materials = gather(request, self._kept)
        faults = dict(fault.partition(":")[::2] for fault in job.faults)
        if "content_refused" in faults:
            raise UnusableInput(
                "content_refused", "this cannot be made here: the request was refused by the content check"
            )
        if "fail_job" in faults:
            raise UnusableInput("failed", faults["fail_job"] or "told to fail")
        made = make_media(request, materials, progress)
        progress.reach(1.0)
        data, media_type = made.data, made.media_type
        if "empty_output" in faults:
            data = b""
        if "wrong_type_output" in faults:
            data = b"<!doctype html><title>not media</title><script>document.title = 'ran'</script>"
        return [StudioOutput(self._made.put(data), media_type)]

    def _advance(self, job: StudioJob, step: float) -> bool:
        with self._store.begin() as db:
            running = ledger.advance_job(db, job.id, step, self._config.clock.now())
        self._courier.ring()
        return running

    def _succeed(self, job: StudioJob, outputs: list[StudioOutput]) -> None:
        request = StudioJobRequest.model_validate_json(job.request)
        offer = offer_named(request.model)
        if offer is None:
            raise LookupError(f"no model {request.model}")
        faults = dict(fault.partition(":")[::2] for fault in job.faults)
        amount = offer.cost(request.typed_params()) * Decimal(faults.get("overcharge", "1"))
        with self._store.begin() as db:
            ledger.succeed_job(db, job.id, outputs, amount, self._config.clock.now())
        self._courier.ring()

    def _fail(self, job: StudioJob, failure: StudioFailure) -> None:
        with self._store.begin() as db:
            ledger.fail_job(db, job.id, failure, self._config.clock.now())
        self._courier.ring()
