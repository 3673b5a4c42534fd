"""Binding of casts and of functions that convert to one type, such as TO_DATE."""

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.sql.functions import DIALECT
from dynamic_tables.sql.names import refuse_unknown
from dynamic_tables.sql.rules import ExpressionBinder, Rule, node_name
from dynamic_tables.sql.types import length_of, type_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Cast, Expression, Literal
from dynamic_tables.values.functions import as_type, call
from dynamic_tables.values.types import (
    BOOLEAN,
    DATE,
    DIGITS_MAX,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    Kind,
    Type,
)
from pruning.errors import InputError

# The kinds of values that are converted to a date or a time; numbers of seconds to a time alone.
DATED = frozenset({Kind.TEXT, Kind.VARIANT, Kind.DATE, Kind.TIMESTAMP, Kind.NULL})
CONVERTIBLE: Mapping[Kind, frozenset[Kind]] = {Kind.DATE: DATED, Kind.TIMESTAMP: DATED | {Kind.INTEGER}}
# Functions that the parser has no node for.
CONVERSIONS: Mapping[str, tuple[Type, bool]] = {
    "to_timestamp": (TIMESTAMP, False),
    "to_timestamp_ntz": (TIMESTAMP, False),
    "try_to_timestamp": (TIMESTAMP, True),
    "try_to_timestamp_ntz": (TIMESTAMP, True),
}


def bind_cast(binder: ExpressionBinder, node: exp.Cast) -> Expression:
    """Bind CAST, :: and TRY_CAST, also to a type with a length; a typed literal is a cast too."""
    refuse_unknown(node, DIALECT | {"to", "null_on_text_overflow"}, "a cast")
    wanted, length, lenient = type_of(node.to), length_of(node.to), isinstance(node, exp.TryCast)
    return convert(binder.bind(node.this), wanted, lenient=lenient, length=length)


def convert(
    operand: Expression, wanted: Type, *, lenient: bool = False, length: int | None = None
) -> Expression:
    """Convert an expression to a type.

    Args:
        lenient: True if a value without counterpart becomes NULL instead of an error.
        length: The most characters of a text, or digits of a number; None for the most that there may be.
    """
    value = Cast(operand, wanted, lenient=True) if lenient else as_type(operand, wanted)
    if length is None:
        return value
    limit = "limit characters" if wanted.kind is Kind.TEXT else "limit digits"
    return call(f"try {limit}" if lenient else limit, value, Literal(length, INTEGER))


def conversion_rule(wanted: Type) -> Rule:
    """Return the rule of a function that converts its only argument, maybe leniently, to a type."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        refuse_unknown(node, frozenset({"this", "safe"}), node_name(node))
        return converted_argument(
            node_name(node), binder.bind(node.this), wanted, bool(node.args.get("safe"))
        )

    return run


def converted_argument(name: str, operand: Expression, wanted: Type, lenient: bool) -> Expression:
    """Return the conversion of an argument of a function.

    Raises:
        InputError: No value of the argument's type can be converted.
    """
    kinds = CONVERTIBLE.get(wanted.kind)
    if kinds is not None and operand.type.kind not in kinds:
        raise InputError(f"{name} takes text or a time, not {operand.type}")
    return convert(operand, wanted, lenient=lenient)


def bind_to_number(binder: ExpressionBinder, node: exp.ToNumber) -> Expression:
    """Bind TO_NUMBER, TO_DECIMAL and TO_NUMERIC, whose digits are 38 and 0 if they are not written."""
    refuse_unknown(node, frozenset({"this", "safe", "precision", "scale"}), node_name(node))
    defaults = {"precision": exp.Literal.number(DIGITS_MAX), "scale": exp.Literal.number(0)}
    digits = {part: node.args.get(part) or default for part, default in defaults.items()}
    for part in digits.values():
        if not isinstance(part, exp.Literal) or not part.name.isdigit():
            raise Refused(f"{node_name(node)} with digits that are no whole numbers", "is not supported")
    written = exp.DataType(
        this=exp.DType.DECIMAL,
        expressions=[exp.DataTypeParam(this=part) for part in digits.values()],
    )
    wanted, length, lenient = type_of(written), length_of(written), bool(node.args.get("safe"))
    return convert(binder.bind(node.this), wanted, lenient=lenient, length=length)


def bind_unix_time(binder: ExpressionBinder, node: exp.UnixToTime) -> Expression:
    """Bind TO_TIMESTAMP of a number of seconds."""
    refuse_unknown(node, frozenset({"this", "target_type"}), "TO_TIMESTAMP(...)")
    return converted_argument("TO_TIMESTAMP(...)", binder.bind(node.this), TIMESTAMP, False)


def bind_conversion(binder: ExpressionBinder, node: exp.Anonymous) -> Expression:
    """Bind a conversion that the parser has no node for."""
    wanted, lenient = CONVERSIONS[node.name.lower()]
    if len(node.expressions) != 1:
        raise Refused("a format or a scale", f"is not supported in {node_name(node)}")
    return converted_argument(node_name(node), binder.bind(node.expressions[0]), wanted, lenient)


RULES: Mapping[type[exp.Expression], Rule] = {
    exp.Cast: bind_cast,
    exp.TryCast: bind_cast,
    exp.TsOrDsToDate: conversion_rule(DATE),
    exp.ToChar: conversion_rule(TEXT),
    exp.ToDouble: conversion_rule(FLOAT),
    exp.ToBoolean: conversion_rule(BOOLEAN),
    exp.ToNumber: bind_to_number,
    exp.UnixToTime: bind_unix_time,
}
