"""Inngest's loose comparison: null for what is missing, numbers in text count as numbers."""

from collections.abc import Callable
from typing import Any


def truthy(value: Any) -> bool:
    """JavaScript's idea of truth, as far as JSON goes: empty text, zero, null and false are false."""
    return bool(value) or isinstance(value, (list, dict))


def equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if type(left) is type(right):
        return bool(left == right)
    numbers = number(left), number(right)
    return None not in numbers and numbers[0] == numbers[1]


def ordered(left: Any, right: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """`<`, `<=`, `>`, `>=`; null is below everything."""
    if left is None or right is None:
        return compare(left is not None, right is not None)
    if isinstance(left, str) and isinstance(right, str):
        return compare(left, right)
    numbers = number(left), number(right)
    return None not in numbers and compare(*numbers)


def add(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        return text(left) + text(right)
    numbers = number(left), number(right)
    if numbers[0] is None or numbers[1] is None:
        return None
    return numbers[0] + numbers[1]


def number(value: Any) -> int | float | None:
    """The number in a number or in text, else None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
