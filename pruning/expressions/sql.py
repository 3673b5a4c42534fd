"""Conversion of expressions to Spark SQL text with the same meaning.

The text means the same in every session whose `spark.sql.ansi.enabled` agrees with the modes in
the tree, and whose time zone is that of its casts and calls: no literal depends on the session's
time zone or on how its parser reads backslashes.
"""

import datetime
import string
from collections.abc import Callable, Mapping
from decimal import Decimal

from pruning.expressions.function_groups import ARRAY_FUNCTIONS
from pruning.expressions.names import quoted_name, quoted_path
from pruning.expressions.traversal import children, walk
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
    Opaque,
    Operator,
    Or,
    Quantified,
    RLike,
    StartsWith,
    type_of,
)
from pruning.expressions.types import STRING, Kind, Type, Value

_DAY_US = 86_400_000_000
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
# The characters that a quoted literal may hold unescaped under every parser setting; `$` could begin a
# variable.
_PLAIN = frozenset(string.ascii_letters + string.digits + " !#%&()*+,-./:;<=>?@[]^_{|}~")
_TRY_FUNCTIONS = {
    Operator.ADD: "try_add",
    Operator.SUBTRACT: "try_subtract",
    Operator.MULTIPLY: "try_multiply",
    Operator.DIVIDE: "try_divide",
    Operator.REMAINDER: "try_mod",  # since Spark 4.0
}
# SQL's keyword for the side of a text to trim, needed when the characters to trim are given.
_TRIMMED = {Function.TRIM: "BOTH", Function.LTRIM: "LEADING", Function.RTRIM: "TRAILING"}


def to_sql(expression: Expression) -> str:
    """Return the expression as Spark SQL; `Opaque` parts as Spark printed them, maybe not parseable."""
    ordered = list(walk(expression))
    variable = _variable(ordered)
    done: list[str] = []
    # A walk yields parents first, so in reverse the text of every operand is ready before its parent.
    for node in reversed(ordered):
        operands = [done.pop() for _ in children(node)]
        if isinstance(node, Element):
            done.append(".".join([variable, *map(quoted_name, node.fields)]))
        elif isinstance(node, Quantified):
            done.append(f"{node.quantifier.value}({quoted_path(node.array)}, {variable} -> {operands[0]})")
        else:
            done.append(_WRITERS[type(node)](node, operands))
    return done.pop()


def _variable(nodes: list[Expression]) -> str:
    """Return a name for a lambda's variable that hides no column of the expression."""
    names = [quoted_path(node.name).lower() for node in nodes if isinstance(node, Column)]
    names += [quoted_path(node.array).lower() for node in nodes if isinstance(node, Quantified)]
    variable = "x"
    while any(name == f"`{variable}`" or name.startswith(f"`{variable}`.") for name in names):
        variable += "x"
    return variable


def literal_sql(value: Value | None, type_: Type) -> str:
    """Return a constant of a known type as SQL, exact to the last bit."""
    if value is None:
        return "NULL" if type_.kind is Kind.NULL else f"CAST(NULL AS {type_.sql})"
    return _LITERALS[type_.kind](value, type_)


def _boolean(value: Value, type_: Type) -> str:
    return "true" if value else "false"


def _integer(suffix: str) -> Callable[[Value, Type], str]:
    # The parentheses separate the sign from an operator before it.
    return lambda value, type_: f"({int(value)}{suffix})" if int(value) < 0 else f"{int(value)}{suffix}"


def _floating(value: Value, type_: Type) -> str:
    text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))
    return f"CAST('{text}' AS {type_.sql})"


def _decimal(value: Value, type_: Type) -> str:
    assert isinstance(value, Decimal)
    return f"CAST('{value:f}' AS {type_.sql})"


def _string(value: Value, type_: Type) -> str:
    assert isinstance(value, bytes)
    text = value.decode("latin-1")
    return f"'{text}'" if _PLAIN.issuperset(text) else f"CAST(X'{value.hex().upper()}' AS STRING)"


def _binary(value: Value, type_: Type) -> str:
    assert isinstance(value, bytes)
    return f"X'{value.hex().upper()}'"


def _date(value: Value, type_: Type) -> str:
    ordinal = int(value) + _EPOCH_DAY
    if 1 <= ordinal <= datetime.date.max.toordinal():
        return f"DATE'{datetime.date.fromordinal(ordinal)}'"
    return f"date_from_unix_date({int(value)})"


def _timestamp(value: Value, type_: Type) -> str:
    clock = _clock(int(value))
    return f"timestamp_micros({int(value)}L)" if clock is None else f"TIMESTAMP_LTZ'{clock}Z'"


def _timestamp_ntz(value: Value, type_: Type) -> str:
    clock = _clock(int(value))
    if clock is not None:
        return f"TIMESTAMP_NTZ'{clock}'"
    # Round days toward zero, because the midnight before the least timestamp is not a timestamp.
    days, rest_us = divmod(abs(int(value)), _DAY_US)
    sign = -1 if int(value) < 0 else 1
    midnight = f"CAST(date_from_unix_date({sign * days}) AS TIMESTAMP_NTZ)"
    seconds = f"{Decimal(sign * rest_us).scaleb(-6):f}"
    return f"({midnight} + make_dt_interval(0, 0, 0, CAST('{seconds}' AS decimal(18,6))))"


def _clock(microseconds: int) -> str | None:
    """Return a timestamp as `YYYY-MM-DD hh:mm:ss.ffffff`; None outside the years 1 to 9999."""
    try:
        moment = _EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return moment.isoformat(sep=" ", timespec="microseconds")


_LITERALS: Mapping[Kind, Callable[[Value, Type], str]] = {
    Kind.BOOLEAN: _boolean,
    Kind.BYTE: _integer("Y"),
    Kind.SHORT: _integer("S"),
    Kind.INTEGER: _integer(""),
    Kind.LONG: _integer("L"),
    Kind.FLOAT: _floating,
    Kind.DOUBLE: _floating,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _string,
    Kind.BINARY: _binary,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_NTZ: _timestamp_ntz,
}


def _starts_with(node: StartsWith, operands: list[str]) -> str:
    kind = Kind.BINARY if type_of(node.operand).kind is Kind.BINARY else Kind.STRING
    return f"startswith({operands[0]}, {literal_sql(node.prefix, Type(kind))})"


def _pattern(node: EndsWith | Contains | RLike, operands: list[str]) -> str:
    match node:
        case EndsWith(_, suffix):
            return f"endswith({operands[0]}, {_string(suffix, STRING)})"
        case Contains(_, part):
            return f"contains({operands[0]}, {_string(part, STRING)})"
        case RLike(_, pattern):
            return f"({operands[0]} RLIKE {_string(pattern, STRING)})"


def _like(node: Like, operands: list[str]) -> str:
    text = f"{operands[0]} LIKE {_string(node.pattern, STRING)}"
    if node.escape == "\\":
        return f"({text})"
    quote = '"' if node.escape == "'" else "'"
    return f"({text} ESCAPE {quote}{node.escape}{quote})"


def _case(node: Case, operands: list[str]) -> str:
    *branches, otherwise = operands
    pairs = zip(branches[0::2], branches[1::2], strict=True)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"(CASE {whens} ELSE {otherwise} END)"


def _arithmetic(node: Arithmetic, operands: list[str]) -> str:
    left, right = operands
    if node.mode is Mode.TRY:
        return f"{_TRY_FUNCTIONS[node.operator]}({left}, {right})"
    return f"({left} {node.operator.value} {right})"


def _cast(node: Cast, operands: list[str]) -> str:
    function = "try_cast" if node.mode is Mode.TRY else "CAST"
    return f"{function}({operands[0]} AS {node.type.sql})"


def _call(node: Call, operands: list[str]) -> str:
    if node.function in _TRIMMED and len(operands) > 1:
        text, characters = operands
        return f"trim({_TRIMMED[node.function]} {characters} FROM {text})"
    if node.function in ARRAY_FUNCTIONS:
        return _of_array(node, operands)
    if node.function is Function.PLUS_INTERVAL:
        return _plus_interval(node, operands[0])
    if node.function is Function.TIMESTAMPDIFF:
        return f"timestampdiff({_unit(node)}, {operands[1]}, {operands[2]})"
    # `unix_seconds` rounds down, as the expression does; Spark's `unix_timestamp` rounds toward zero.
    name = "unix_seconds" if node.function is Function.UNIX_TIMESTAMP else node.function.value
    return f"{name}({', '.join(operands)})"


def _of_array(node: Call, operands: list[str]) -> str:
    """Return a call on an array or a map; its first operand stands for what that holds, or a field of it."""
    element = node.operands[0]
    assert isinstance(element, Element)
    fields = "".join(f".{quoted_name(field)}" for field in element.fields)
    if node.function in (Function.ELEMENT_AT, Function.MAP_VALUE):
        return f"{Function.ELEMENT_AT.value}({quoted_path(element.array)}, {operands[-1]}){fields}"
    return f"{node.function.value}({quoted_path(element.array)}{fields})"


def _plus_interval(node: Call, operand: str) -> str:
    """Return the sum of a time and a constant interval of months, days and microseconds."""
    months, days, micros = (0 if part is None else int(part) for part in map(_constant, node.operands[1:]))
    seconds = f"{Decimal(micros).scaleb(-6):f}"
    return f"({operand} + make_interval(0, {months}, 0, {days}, 0, 0, CAST('{seconds}' AS decimal(18,6))))"


def _unit(node: Call) -> str:
    """Return the name of a unit, which `timestampdiff` takes without quotes."""
    unit = _constant(node.operands[0])
    assert isinstance(unit, bytes)
    return unit.decode()


def _constant(operand: Expression) -> Value | None:
    """Return the value of a literal."""
    assert isinstance(operand, Literal)
    return operand.value


# Each writer is given nodes of its own class only.
_WRITERS: Mapping[type, Callable[..., str]] = {
    Column: lambda node, operands: quoted_path(node.name),
    Literal: lambda node, operands: literal_sql(node.value, node.type),
    Compare: lambda node, operands: f"({operands[0]} {node.operator.value} {operands[1]})",
    And: lambda node, operands: f"({' AND '.join(operands)})",
    Or: lambda node, operands: f"({' OR '.join(operands)})",
    Not: lambda node, operands: f"(NOT {operands[0]})",
    IsNull: lambda node, operands: f"({operands[0]} IS NULL)",
    In: lambda node, operands: f"({operands[0]} IN ({', '.join(operands[1:])}))",
    StartsWith: _starts_with,
    Like: _like,
    EndsWith: _pattern,
    Contains: _pattern,
    RLike: _pattern,
    Case: _case,
    Coalesce: lambda node, operands: f"coalesce({', '.join(operands)})",
    Arithmetic: _arithmetic,
    Cast: _cast,
    Call: _call,
    Opaque: lambda node, operands: f"({node.sql})",
}
