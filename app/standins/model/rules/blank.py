"""The emptiest value that a JSON schema allows: the honest verdict of a stand-in that has no rule for a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def blank(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Never raises; an unknown construction is null."""
    root = root or schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return blank(root.get("$defs", {}).get(name, {}), root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            branches = schema[union]
            return None if {"type": "null"} in branches else blank(branches[0], root)
    return _of_type(schema, root)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    match schema.get("type"):
        case "object":
            return {name: blank(inner, root) for name, inner in schema.get("properties", {}).items()}
        case "array":
            return []
        case "string":
            return ""
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None
