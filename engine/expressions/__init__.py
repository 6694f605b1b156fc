"""CEL as Inngest speaks it: missing is null, comparison is loose."""

from engine.expressions.compiled import Expression, ExpressionError, compile_expression
from engine.expressions.matching import match_key, match_of

__all__ = ["Expression", "ExpressionError", "compile_expression", "match_key", "match_of"]
