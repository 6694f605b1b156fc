"""Expressions: CEL with Inngest's rules, where what is missing is null and comparison is loose."""

from engine.expressions.compiler import Expression, ExpressionError, compile_expression
from engine.expressions.event_match import match_key, match_of

__all__ = ["Expression", "ExpressionError", "compile_expression", "match_key", "match_of"]
