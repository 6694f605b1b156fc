"""From bytes to a syntax tree, or the reason why there is none."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

from skills.manifest import MAX_SOURCE
from skills.problem import Problem, RefusedSkillError


def parse(source: bytes) -> tuple[str, ast.Module]:
    """The text and its tree; raises RefusedSkillError."""
    if len(source) > MAX_SOURCE:
        reason = f"the file has more than {MAX_SOURCE} bytes"
        raise RefusedSkillError(Problem(None, reason, "keep data out of the file"))
    text = _text(source)
    try:
        with warnings.catch_warnings():
            # An escape that Python frowns upon is the author's, and no line in our log.
            warnings.simplefilter("ignore")
            return text, ast.parse(text)
    except SyntaxError as error:
        raise RefusedSkillError(
            Problem(error.lineno or None, str(error.msg), "correct the syntax on this line")
        ) from None
    except (RecursionError, MemoryError):
        raise RefusedSkillError(Problem(None, "the file is nested too deeply", "write it flatter")) from None
    except ValueError as error:
        reason = f"this is no Python source: {error}"
        raise RefusedSkillError(Problem(None, reason, "save it as UTF-8 text")) from None


def _text(source: bytes) -> str:
    """Every reader of the file must read the same text: UTF-8, whatever its first lines claim."""
    fix = "save it as UTF-8 text"
    try:
        source.decode("utf-8")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except UnicodeDecodeError as error:
        raise RefusedSkillError(Problem(_line(source, error.start), f"the file is not UTF-8: {error}", fix)) from None
    except SyntaxError as error:
        raise RefusedSkillError(Problem(1, f"the file is not UTF-8: {error}", fix)) from None
    if (at := source.find(b"\0")) >= 0:
        raise RefusedSkillError(Problem(_line(source, at), "there is a null byte in the file", fix))
    if encoding in ("utf-8", "utf-8-sig"):
        return source.decode(encoding)
    raise RefusedSkillError(Problem(1, f"the file says that it is written in {encoding}", fix))


def _line(source: bytes, at: int) -> int:
    return source.count(b"\n", 0, at) + 1
