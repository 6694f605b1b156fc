"""Refusals of the studio, as RFC 9457 problems."""

import json

from flask import Response


class StudioProblem(Exception):
    """A refused call. `code` is for programs; `detail` says what to do."""

    def __init__(
        self, status: int, code: str, detail: str, headers: dict[str, str] | None = None, **extra: object
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}
        self.extra = extra

    def response(self) -> Response:
        """The problem as an `application/problem+json` answer."""
        body = {
            "type": "about:blank",
            "title": self.code.replace("_", " "),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        return Response(
            json.dumps({**body, **self.extra}),
            status=self.status,
            mimetype="application/problem+json",
            headers=self.headers,
        )
