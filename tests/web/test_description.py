"""What the API says of itself is what it does."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import app.web.api
from tests.web.site.site import Site

ROOM = Path(next(iter(app.web.api.__path__)))


def test_every_query_that_is_read_is_described(site: Site) -> None:
    described = {
        parameter["name"]
        for route in site.get("/api/v1/openapi.json")["paths"].values()
        for operation in route.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query"
    }

    read = {name for file in sorted(ROOM.glob("*.py")) for name in _read_of_query(file)}

    assert len(read) > 8
    assert read <= described


def test_a_list_says_how_it_is_paged_and_a_work_may_be_a_file(site: Site) -> None:
    paths = site.get("/api/v1/openapi.json")["paths"]

    assert {"limit", "cursor", "q", "kind", "task_id"} <= _names(paths["/api/v1/objects"]["get"])
    assert {"status", "limit", "cursor"} <= _names(paths["/api/v1/tasks"]["get"])
    assert "multipart/form-data" in paths["/api/v1/objects"]["post"]["requestBody"]["content"]


def test_what_a_signature_opens_is_described_with_its_refusals(site: Site) -> None:
    paths = site.get("/api/v1/openapi.json")["paths"]
    callback = paths["/api/v1/generations/callbacks/{provider}"]["post"]

    assert callback["security"] == []
    assert site.client.post("/api/v1/generations/callbacks/nobody", content=b"{}").status_code == 404
    assert site.client.get(f"/api/v1/assets/{'0' * 64}").status_code == 403
    assert "404" in callback["responses"]
    assert "403" in paths["/api/v1/assets/{sha256}"]["get"]["responses"]


def _names(operation: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in operation["parameters"]}


def _read_of_query(file: Path) -> set[str]:
    """The constants in `request.args.get("…")`."""
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "request.args.get"
        and isinstance(node.args[0], ast.Constant)
    }
