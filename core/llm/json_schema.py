"""JSON schema: check whether a value has the shape that a schema describes.

Patterns and formats are ignored, since a schema may come from an untrusted program and a hostile pattern can keep a
process busy for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

_MAX_COMPARISONS = 20_000


def find_misfits(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return where and why the value does not fit, at most five places; empty when it fits."""
    return list(islice(_Comparison(schema).find(schema, value, "answer"), 5))


class _Comparison:
    """One comparison, ended by a count, since schemas may refer to themselves."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MAX_COMPARISONS

    def find(self, schema: Any, value: Any, at: str, depth: int = 0) -> Iterator[str]:
        if not isinstance(schema, Mapping):
            return
        self._left -= 1
        if self._left < 0 or depth > 50:
            yield f"{at}: the schema is too complex to be checked"
            return
        if isinstance(schema.get("$ref"), str):
            yield from self.find(_resolve(self._root, schema["$ref"]), value, at, depth + 1)
        for part in _as_list(schema.get("allOf")):
            yield from self.find(part, value, at, depth + 1)
        for one_of in ("anyOf", "oneOf"):
            choices = _as_list(schema.get(one_of))
            if choices and all(any(True for _ in self.find(one, value, at, depth + 1)) for one in choices):
                yield f"{at}: fits none of its forms"
        types = [schema["type"]] if isinstance(schema.get("type"), str) else _as_list(schema.get("type"))
        if types and not any(_has_type(value, str(one)) for one in types):
            yield f"{at}: is no {' or '.join(map(str, types))}"
            return
        if "const" in schema and value != schema["const"]:
            yield f"{at}: is not {schema['const']!r}"
        if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
            yield f"{at}: is none of {', '.join(map(repr, schema['enum'][:10]))}"
        yield from _check_sizes(schema, value, at)
        match value:
            case Mapping():
                yield from self._check_members(schema, value, at, depth)
            case list():
                for n, item in enumerate(value):
                    yield from self.find(schema.get("items"), item, f"{at}.{n}", depth + 1)

    def _check_members(self, schema: Mapping[str, Any], value: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        for name in _as_list(schema.get("required")):
            if name not in value:
                yield f"{at}.{name}: is missing"
        others = schema.get("additionalProperties")
        for name, item in value.items():
            if name in known:
                yield from self.find(known[name], item, f"{at}.{name}", depth + 1)
            elif others is False:
                yield f"{at}.{name}: is not asked for"
            else:
                yield from self.find(others, item, f"{at}.{name}", depth + 1)


def _check_sizes(schema: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
    for lowest, highest, size in (
        ("minimum", "maximum", value if _has_type(value, "number") else None),
        ("minLength", "maxLength", len(value) if isinstance(value, str) else None),
        ("minItems", "maxItems", len(value) if isinstance(value, list) else None),
    ):
        if size is None:
            continue
        if _has_type(schema.get(lowest), "number") and size < schema[lowest]:
            yield f"{at}: is below {schema[lowest]}"
        if _has_type(schema.get(highest), "number") and size > schema[highest]:
            yield f"{at}: is above {schema[highest]}"


def _has_type(value: Any, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return True


def _resolve(root: Mapping[str, Any], ref: str) -> Any:
    place: Any = root
    for part in ref.removeprefix("#/").split("/") if ref.startswith("#/") else ():
        place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place if ref.startswith("#") else None


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
