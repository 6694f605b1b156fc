"""Long texts, a page at a time."""

from __future__ import annotations

from core.errors import InvalidError
from workspace.folding import is_between_characters

# With quotes and line ends escaped a page still fits into the history as one result.
PAGE = 10_000


def page_of(text: str, page: int, size: int = PAGE) -> tuple[str, int]:
    """The page (from 1) and how many there are; the pages joined are the text. Raises InvalidError past the last."""
    starts = [0]
    while len(text) - starts[-1] > size:
        starts.append(_break(text, starts[-1], size))
    if not 1 <= page <= len(starts):
        raise InvalidError(f"there is no page {page}; the last is {len(starts)}")
    end = starts[page] if page < len(starts) else len(text)
    return text[starts[page - 1] : end], len(starts)


def _break(text: str, start: int, size: int) -> int:
    """After a line end in the last quarter of the page, else where no character is cut in two."""
    line_end = text.rfind("\n", start + size - size // 4, start + size)
    if line_end >= 0:
        return line_end + 1
    end = start + size
    while end > start + size // 2 and not is_between_characters(text, end):
        end -= 1
    return end
