"""Refusals of the stand-in model, in the form of OpenAI-compatible servers."""

from __future__ import annotations

from flask import Response, jsonify


class ModelProblem(Exception):
    """A refused request; `detail` says what to do."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail

    def body(self) -> dict[str, object]:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.detail, "type": kind, "param": None, "code": self.code}}

    def response(self) -> Response:
        answer = jsonify(self.body())
        answer.status_code = self.status
        return answer
