"""Inputs of a job as bytes: stored if sent with the job, fetched if given by address."""

import base64
import binascii
import hashlib
import time
from dataclasses import dataclass

import httpx

from standins.studio.blobs import Blobs
from standins.studio.problems import StudioProblem
from standins.studio.request import StudioJobInput, StudioJobRequest

MOST_BYTES = 50 * 1024 * 1024
FETCH_SECONDS = 20.0
PAUSES = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Material:
    """An input's bytes and their hash."""

    role: str
    data: bytes
    sha256: str


class InputUnavailable(Exception):
    """An input is not available; the message says which and why."""


def keep_data(request: StudioJobRequest, kept: Blobs) -> StudioJobRequest:
    """Store each base64 input as a file and return the request with its hash in place of the data.

    Raises StudioProblem 422 if the data is not base64, is too large, or has another hash than announced.
    """
    return request.model_copy(update={"inputs": [_keep(item, kept) for item in request.inputs]})


def gather(request: StudioJobRequest, kept: Blobs) -> list[Material]:
    """Return every input's bytes, fetched if they are not stored. Raise InputUnavailable."""
    return [_material(item, kept) for item in request.inputs]


def _keep(item: StudioJobInput, kept: Blobs) -> StudioJobInput:
    if item.data is None:
        return item
    try:
        data = base64.b64decode(item.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise StudioProblem(
            422, "invalid_params", "inputs.data: must be base64 without spaces or line breaks"
        ) from error
    if len(data) > MOST_BYTES:
        raise StudioProblem(422, "invalid_params", f"inputs.data: {len(data)} bytes are too many; at most {MOST_BYTES}")
    sha256 = hashlib.sha256(data).hexdigest()
    if item.sha256 not in (None, sha256):
        raise StudioProblem(422, "invalid_params", f"inputs.sha256: the data's hash is {sha256}, not {item.sha256}")
    kept.put(data)
    return item.model_copy(update={"data": None, "sha256": sha256})


def _material(item: StudioJobInput, kept: Blobs) -> Material:
    path = None if item.sha256 is None else kept.path(item.sha256)
    data = path.read_bytes() if path is not None else _fetch(item)
    sha256 = hashlib.sha256(data).hexdigest()
    if item.sha256 not in (None, sha256):
        raise InputUnavailable(f"the {item.role} has the hash {sha256}, not {item.sha256} as announced")
    kept.put(data)
    return Material(item.role, data, sha256)


def _fetch(item: StudioJobInput) -> bytes:
    if item.url is None:
        raise InputUnavailable(f"the {item.role} has no address and was not kept")
    reason = ""
    for pause in (*PAUSES, None):
        try:
            return _fetch_once(item.url)
        except httpx.TransportError as error:
            reason = type(error).__name__
        except httpx.HTTPStatusError as error:
            reason = f"status {error.response.status_code}"
            if error.response.status_code < 500:
                break
        if pause is not None:
            time.sleep(pause)
    raise InputUnavailable(f"the {item.role} could not be fetched: {reason}")


def _fetch_once(url: str) -> bytes:
    deadline = time.monotonic() + FETCH_SECONDS
    chunks: list[bytes] = []
    size = 0
    with (
        httpx.Client(timeout=FETCH_SECONDS, trust_env=False, follow_redirects=False) as client,
        client.stream("GET", url) as answer,
    ):
        if answer.is_redirect:
            raise InputUnavailable("an input's address answers with a redirect; give the final address")
        answer.raise_for_status()
        for chunk in answer.iter_bytes(64 * 1024):
            chunks.append(chunk)
            size += len(chunk)
            if size > MOST_BYTES:
                raise InputUnavailable(f"an input is larger than {MOST_BYTES} bytes")
            if time.monotonic() > deadline:
                raise InputUnavailable(f"an input did not arrive within {FETCH_SECONDS:.0f} s")
    return b"".join(chunks)
