"""Comments that turn a check off for a whole file: then nobody knows what is in it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from skills.checks.source import Source
from skills.problem import Problem

_WHOLE_FILE = re.compile(r"#\s*(type|ty)\s*:\s*ignore\b", re.IGNORECASE)


def check_turned_off(source: Source) -> Iterator[Problem]:
    """One that stands behind code speaks for its own line; only those above all code speak for the file."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(source.lines)).readline):
            if token.type == tokenize.COMMENT and _WHOLE_FILE.match(token.string):
                reason = "this comment turns the check of types off for the whole file"
                yield Problem(token.start[0], reason, "put it at the end of the one line that it is for")
            elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
                return
    except (tokenize.TokenError, SyntaxError):
        # What the syntax tree could be made of is told elsewhere.
        return
