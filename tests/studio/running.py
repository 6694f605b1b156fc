"""A studio in a process of its own, and a client of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from app.supervision.ports import free_ports
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
KEY = "the-jobs-key"
Json = dict[str, Any]


@dataclass
class Studio:
    """`kill` is SIGKILL for every process of it; `start` starts it again on its port and folder."""

    folder: Path
    pace: float | None = 0
    faults: bool = False
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=20)

    def start(self) -> None:
        told = {
            "folder": str(self.folder),
            "port": self.port,
            "jobs_key": KEY,
            "pace": self.pace,
            "faults": self.faults,
        }
        command = [sys.executable, "-m", "tests.studio.serve", json.dumps(told)]
        self.process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
        until(f"the studio at {self.url}", self._answers)

    def kill(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
            self.process = None

    def submit(self, key: str, **body: Any) -> httpx.Response:
        return self.client.post("/jobs", json=body, headers={"Idempotency-Key": key})

    def job(self, job_id: str) -> Json:
        answer = self.client.get(f"/jobs/{job_id}")
        answer.raise_for_status()
        shown: Json = answer.json()
        return shown

    def final(self, job_id: str) -> Json:
        """The job once it has ended."""
        until(f"the end of {job_id}", lambda: self.job(job_id)["state"] in ("succeeded", "failed", "cancelled"))
        return self.job(job_id)

    def made(self, key: str, **body: Any) -> bytes:
        """The bytes of the one output of a job that must succeed."""
        accepted = self.submit(key, **body)
        assert accepted.status_code == 202, accepted.text
        job = self.final(accepted.json()["id"])
        assert job["state"] == "succeeded", job
        return self.output(job)

    def output(self, job: Json) -> bytes:
        (output,) = job["outputs"]
        answer = self.client.get(output["url"])
        answer.raise_for_status()
        assert answer.headers["content-type"] == output["media_type"]
        return answer.content

    def bill(self) -> list[Json]:
        items: list[Json] = httpx.get(f"{self.url}/bill").json()["items"]
        return items

    def fault(self, name: str, **more: Any) -> None:
        httpx.post(f"{self.url}/faults", json={"next": name, **more}).raise_for_status()

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the studio ended"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2).is_success
        except httpx.HTTPError:
            return False


@contextmanager
def running(studio: Studio) -> Iterator[Studio]:
    studio.start()
    try:
        yield studio
    finally:
        studio.client.close()
        studio.kill()


def poster(prompt: str = "Retro poster for the Harbour Festival, navy and cream", **params: Any) -> Json:
    """The body of a request for a small poster."""
    return {"kind": "image", "model": "studio-poster-1", "params": {"prompt": prompt, "size": "512x768", **params}}
