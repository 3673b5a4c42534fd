"""Catalyst's constants as Python values, byte for byte."""

import decimal
import struct
import uuid
from decimal import Decimal
from typing import Any

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.spark.jvm.gateway import Java, elements
from pruning.spark.jvm.nodes import Node

# Java writes it in place of bytes that are not UTF-8, so text that holds it may not be what is stored.
_REPLACEMENT = "�"
# Spark's JSON shows these by way of calendars and object addresses.
_LOSSY = frozenset({Kind.BINARY, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation])


def literal_value(node: Node, type_: Type) -> Value | None:
    """The value of a `Literal` node of a known type; None is SQL's NULL.

    Raises:
        ValueError: the value is not what the type promises.
    """
    text = node.fields["value"]
    if text is None or type_.kind in _LOSSY or (type_.kind is Kind.STRING and _REPLACEMENT in text):
        return internal_value(node.java().value(), type_)
    return parse_value(text, type_)


def parse_value(text: str, type_: Type) -> Value:
    """The value that Java prints as `text`.

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
    """The value of Catalyst's internal object, fetched by py4j.

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
    """The members of a Scala set of internal objects, NULL last, in a handful of calls.

    Raises:
        ValueError: a member is not a value of the type.
    """
    has_null: bool = members.contains(None)
    if type_.kind in BYTES:
        found = _byte_strings(members, type_, has_null)
    else:
        texts: list[str] = members.mkString("\n").split("\n")
        found = [parse_value(text, type_) for text in texts if text != "null"]
    if len(found) + has_null != members.size():
        raise ValueError("a set's members are not what Spark printed")
    ordered: list[Value | None] = sorted(found, key=lambda value: (value != value, value))
    return [*ordered, None] if has_null else ordered


def _byte_strings(members: Java, type_: Type, has_null: bool) -> list[Value]:
    # Chosen anew each time, so that no member can hold it by design.
    separator = uuid.uuid4().hex
    printed: str = members.mkString(separator)
    if type_.kind is Kind.BINARY or _REPLACEMENT in printed:
        values = (internal_value(member, type_) for member in elements(members.toIndexedSeq()))
        return [value for value in values if value is not None]
    texts = printed.split(separator)
    if has_null:
        # NULL prints as the string 'null' does, and equal members occur once each.
        texts.remove("null")
    return [text.encode() for text in texts]


def _float_value(value: float) -> float:
    """The 32-bit float of which Java printed the shortest digits that name it."""
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
