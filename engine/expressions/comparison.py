"""Loose comparison, as Inngest has it: what is missing is null, and a number in text counts as a number."""

from collections.abc import Callable
from typing import Any


def truthy(value: Any) -> bool:
    """Whether a value counts as true, as in JavaScript: all but empty text, zero, null and false."""
    return bool(value) or isinstance(value, (list, dict))


def equal(left: Any, right: Any) -> bool:
    """Whether two values are loosely equal; null equals only null."""
    if left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if type(left) is type(right):
        return bool(left == right)
    numbers = number(left), number(right)
    return None not in numbers and numbers[0] == numbers[1]


def ordered(left: Any, right: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """Compare two values by `<`, `<=`, `>` or `>=`; null is below everything else."""
    if left is None or right is None:
        return compare(left is not None, right is not None)
    if isinstance(left, str) and isinstance(right, str):
        return compare(left, right)
    numbers = number(left), number(right)
    return None not in numbers and compare(*numbers)


def add(left: Any, right: Any) -> Any:
    """Add numbers, or join lists or text; null for anything else."""
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        return text(left) + text(right)
    numbers = number(left), number(right)
    if numbers[0] is None or numbers[1] is None:
        return None
    return numbers[0] + numbers[1]


def number(value: Any) -> int | float | None:
    """Return a number as it is, or the number that a text contains, else None."""
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
    """Write a value as text; null is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
