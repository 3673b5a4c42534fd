"""The expressions that may fail a query on some row, and so must not decide which rows are read."""

from pruning.expressions.function_groups import OVERFLOWING, TEXT_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Contains,
    Element,
    EndsWith,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    Order,
    Quantified,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Kind
from pruning.rules.families.casts import always_fits
from pruning.rules.text.like_patterns import parse

_NEVER_RAISING = (
    And | Case | Coalesce | Column | Compare | Contains | Element | EndsWith | In | IsNull | Literal
    | Not | Or | Order | Quantified | StartsWith
)  # fmt: skip
# The operators that give infinity on floats where they overflow on other types.
_ROUNDING = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
# The functions that read a field of a time. Others may leave the range of their type, which raises in some of
# Spark's modes.
_FIELD_FUNCTIONS = frozenset(
    {
        Function.YEAR,
        Function.QUARTER,
        Function.MONTH,
        Function.DAY,
        Function.DAYOFWEEK,
        Function.WEEKDAY,
        Function.DAYOFYEAR,
        Function.HOUR,
        Function.MINUTE,
        Function.SECOND,
        Function.DATEDIFF,
        Function.UNIX_TIMESTAMP,
    }
)
_DOUBLE_FUNCTIONS = frozenset(
    {
        Function.SIGN,
        Function.SQRT,
        Function.EXP,
        Function.LN,
        Function.LOG10,
        Function.LOG2,
        Function.LOG1P,
        Function.LOG,
        Function.POWER,
        Function.GREATEST,
        Function.LEAST,
    }
)
_SAFE_FUNCTIONS = TEXT_FUNCTIONS | _FIELD_FUNCTIONS | _DOUBLE_FUNCTIONS


def may_raise(expression: Expression) -> bool:
    """Tell whether Spark may raise where it evaluates an expression on some row.

    Claim     An expression for which this is False raises on no row.
    Proof     Each of its nodes is one of those that `_never_raises` lists: a new kind of node may raise.
    """
    return not all(map(_never_raises, walk(expression)))


def _never_raises(node: Expression) -> bool:
    """Tell whether a node raises for no values of its operands."""
    match node:
        case Like(_, pattern, escape):
            return parse(pattern, escape) is not None
        case Arithmetic(operator, left, _, _, mode):
            # A quotient of decimals that is too long for a bigint raises in every mode.
            long = operator is Operator.INTEGRAL_DIVIDE and type_of(left).kind is Kind.DECIMAL
            rounds = node.type.floating and operator in _ROUNDING
            return (mode is not Mode.ANSI or rounds) and not long
        case Cast(operand, type_, mode):
            source = type_of(operand)
            timeless = source.has_bounds and type_.has_bounds and not {source.kind, type_.kind} & _TIMES
            return always_fits(source, type_) or (mode is not Mode.ANSI and timeless)
        case Call(function, _, _, mode):
            return function in _SAFE_FUNCTIONS or (function in OVERFLOWING and mode is not Mode.ANSI)
        case _:
            return isinstance(node, _NEVER_RAISING)
