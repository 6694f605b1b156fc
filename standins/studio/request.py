"""A request for a job: parsed, checked against the catalogue, and reduced to a digest."""

import hashlib
import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from standins.studio.catalog import OFFERS, PICTURES, StudioOffer, offer_named
from standins.studio.params import PARAMS, ImageParams, Kind, Params, VideoParams
from standins.studio.problems import StudioProblem

MOST_FAULTS = 20
HttpAddress = Annotated[str, StringConstraints(pattern=r"^https?://", max_length=4000)]


class StudioJobInput(BaseModel):
    """An input: `url` to fetch it, `data` (base64), or, once the studio has stored it, only its hash."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Annotated[str, StringConstraints(max_length=40)]
    media_type: Annotated[str, StringConstraints(max_length=100)] | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    url: HttpAddress | None = None
    data: str | None = None


class StudioJobRequest(BaseModel):
    """The body of POST /jobs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    model: Annotated[str, StringConstraints(max_length=100)]
    params: dict[str, object] = Field(default_factory=dict)
    inputs: list[StudioJobInput] = Field(default_factory=list, max_length=8)
    callback_url: HttpAddress | None = None

    def typed_params(self) -> Params:
        """The params as their kind's own class. ValidationError when they do not fit."""
        return PARAMS[self.kind].model_validate(self.params)

    def digest(self) -> str:
        """Return the hash of what is asked for.

        The addresses of inputs with a known hash and of callbacks are left out: a caller that repeats a request may
        sign new ones.
        """
        inputs = [
            {"role": item.role, "sha256": item.sha256} if item.sha256 else item.model_dump(exclude_none=True)
            for item in self.inputs
        ]
        return json_fingerprint({"kind": self.kind, "model": self.model, "params": self.params, "inputs": inputs})

    def work_seed(self, inputs: list[str]) -> int:
        """Return a number that depends only on what is asked for and on the hashes of the given inputs."""
        return int(json_fingerprint({"kind": self.kind, "params": self.params, "inputs": inputs})[:15], 16)


def json_fingerprint(value: object) -> str:
    """Return the SHA-256 of a JSON value; the order of its keys does not count."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()


def read_request(body: object) -> tuple[StudioJobRequest, StudioOffer]:
    """Return a request that the studio can carry out, with the model's offer.

    Raises StudioProblem 422 that names each wrong field and what it should be.
    """
    try:
        request = StudioJobRequest.model_validate(body)
    except ValidationError as error:
        raise _refusal(error, "") from error
    offer = offer_named(request.model)
    if offer is None or offer.kind != request.kind:
        fitting = ", ".join(offer.id for offer in OFFERS if offer.kind == request.kind)
        raise StudioProblem(
            422,
            "invalid_params",
            f"model: {request.model!r} makes no {request.kind}; use {fitting} (GET /models lists all)",
        )
    try:
        params = request.typed_params()
    except ValidationError as error:
        raise _refusal(error, "params.") from error
    for item in request.inputs:
        _check_input(item, offer)
    if not params.prompt and not (isinstance(params, ImageParams | VideoParams) and request.inputs):
        raise StudioProblem(
            422, "invalid_params", "params.prompt: say what to make; only a job with a source picture may leave it out"
        )
    return request, offer


def _check_input(item: StudioJobInput, offer: StudioOffer) -> None:
    if item.role not in offer.input_roles:
        takes = (
            f"takes {' or '.join(offer.input_roles)}" if offer.input_roles else "takes no inputs; leave inputs empty"
        )
        raise StudioProblem(422, "invalid_params", f"inputs.role: {item.role!r} is not known; {offer.id} {takes}")
    if (item.url is None) == (item.data is None):
        raise StudioProblem(422, "invalid_params", "inputs: give each input either a url or base64 data, and not both")
    if item.media_type is not None and item.media_type not in PICTURES:
        raise StudioProblem(
            422, "invalid_params", f"inputs.media_type: {item.media_type!r} is not taken; send {', '.join(PICTURES)}"
        )


def _refusal(error: ValidationError, prefix: str) -> StudioProblem:
    faults = []
    for item in error.errors(include_url=False, include_input=False, include_context=False)[:MOST_FAULTS]:
        name = prefix + ".".join(str(part) for part in item["loc"])
        known = ", ".join(PARAMS)
        message = (
            "is not known here; remove it or check its spelling" if item["type"] == "extra_forbidden" else item["msg"]
        )
        faults.append({"field": name or "body", "message": f"{message} ({known})" if name == "kind" else message})
    detail = "; ".join(f"{fault['field']}: {fault['message']}" for fault in faults)
    return StudioProblem(422, "invalid_params", detail, errors=faults)
