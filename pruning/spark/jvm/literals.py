"""Catalyst's constants converted to Python values without loss."""

import decimal
import struct
import uuid
from decimal import Decimal
from typing import Any

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.spark.jvm.gateway import Java, elements
from pruning.spark.jvm.nodes import Node

# Java prints this character for bytes that are not UTF-8, so that a printed text with it may not be
# the stored one.
_REPLACEMENT = "�"
# Spark's JSON prints values of these kinds as calendar dates and object addresses, and so loses some.
_LOSSY = frozenset({Kind.BINARY, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation])


def literal_value(node: Node, type_: Type) -> Value | None:
    """Return the value of a `Literal` node of a known type; None is SQL's NULL.

    Raises:
        ValueError: the value is not what the type promises.
    """
    text = node.fields["value"]
    if text is None or type_.kind in _LOSSY or (type_.kind is Kind.STRING and _REPLACEMENT in text):
        return internal_value(node.java().value(), type_)
    return parse_value(text, type_)


def parse_value(text: str, type_: Type) -> Value:
    """Return the value that Java prints as `text`.

    Raises:
        ValueError: it is not a value of the type.
    """
    kind = type_.kind
    if kind is Kind.BOOLEAN and text in ("true", "false"):
        return text == "true"
    if type_.integer_range is not None:
        return _in_range(int(text), type_)
    if kind is Kind.DOUBLE:
        return float(text)
    if kind is Kind.FLOAT:
        return _float_value(float(text))
    if kind is Kind.DECIMAL:
        return _decimal_value(text, type_)
    if kind is Kind.STRING:
        return text.encode()
    raise ValueError(f"{text!r} is not a {type_}")


def internal_value(value: Any, type_: Type) -> Value | None:
    """Return the value of Catalyst's internal object, fetched by py4j.

    Raises:
        ValueError: it is not a value of the type.
    """
    if value is None or isinstance(value, bool):
        if value is None or type_.kind is Kind.BOOLEAN:
            return value
    elif type_.kind in BYTES:
        return bytes(value if type_.kind is Kind.BINARY else value.getBytes())
    elif type_.integer_range is not None and isinstance(value, int):
        return _in_range(value, type_)
    elif type_.floating and isinstance(value, float):
        return _float_value(value) if type_.kind is Kind.FLOAT else value
    elif type_.kind is Kind.DECIMAL:
        return _decimal_value(value.toString(), type_)
    raise ValueError(f"{value!r} is not a {type_}")


def set_values(members: Java, type_: Type) -> list[Value | None]:
    """Return the members of a Scala set of internal objects, sorted and NULL last, in a few calls.

    Raises:
        ValueError: a member is not a value of the type.
    """
    has_null: bool = members.contains(None)
    if type_.kind in BYTES:
        values = _byte_strings(members, type_, has_null)
    else:
        texts: list[str] = members.mkString("\n").split("\n")
        values = [parse_value(text, type_) for text in texts if text != "null"]
    if len(values) + has_null != members.size():
        raise ValueError("a set's members are not what Spark printed")
    ordered: list[Value | None] = sorted(values, key=lambda value: (value != value, value))
    return [*ordered, None] if has_null else ordered


def _byte_strings(members: Java, type_: Type, has_null: bool) -> list[Value]:
    # The separator is random, so that nobody can write a member that contains it.
    separator = uuid.uuid4().hex
    printed: str = members.mkString(separator)
    if type_.kind is Kind.BINARY or _REPLACEMENT in printed:
        values = (internal_value(member, type_) for member in elements(members.toIndexedSeq()))
        return [value for value in values if value is not None]
    texts = printed.split(separator)
    if has_null:
        # NULL prints like the string 'null'; a set holds each member once, so one of the two texts is NULL.
        texts.remove("null")
    return [text.encode() for text in texts]


def _float_value(value: float) -> float:
    """Return the 32-bit float nearest to a value; Java prints the shortest digits that identify a float."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _in_range(value: int, type_: Type) -> int:
    bounds = type_.integer_range
    if bounds is None or not bounds[0] <= value <= bounds[1]:
        raise ValueError(f"{value} is not a {type_}")
    return value


def _decimal_value(text: str, type_: Type) -> Decimal:
    try:
        value = Decimal(text).quantize(Decimal(1).scaleb(-type_.scale), context=_EXACT)
    except decimal.DecimalException as error:
        raise ValueError(f"{text} is not a {type_}") from error
    if len(value.as_tuple().digits) > type_.precision and value:
        raise ValueError(f"{text} is not a {type_}")
    return value
