"""Encode expressions and tables as JSON: small, readable, and equal again when decoded.

A node is a list of its written name (`strategies.base.tags`) and its fields in order; an empty time zone is
left out. Values are written so that every bit of them survives: floats in hexadecimal, decimals as text,
bytes as text of one character a byte.
"""

import dataclasses
import enum
from decimal import Decimal
from typing import Any, TypeAlias

from pruning.expressions import types
from pruning.expressions.names import Inside
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import Kind, Type, Value
from strategies.base.tables import Table
from strategies.base.tags import MEMBER_TAGS, MEMBERS, NODE_TAGS, NODES

Json: TypeAlias = Any

# The last fields of nodes, which are not written where they have these values.
_USUAL = {"zone": "", "inside": Inside.ELEMENTS}
_BYTES_FIELDS = frozenset({"prefix", "suffix", "part", "pattern"})


def encode(expression: Expression) -> Json:
    """Return an expression as JSON."""
    values = {field.name: getattr(expression, field.name) for field in dataclasses.fields(expression)}
    type_ = getattr(expression, "type", None)
    for name, usual in _USUAL.items():
        if values.get(name) == usual:
            del values[name]
    return [NODE_TAGS[type(expression)], *(_encode_field(value, type_) for value in values.values())]


def decode(json: Json) -> Expression:
    """Return the expression that was encoded.

    Raises:
        KeyError: no node, or no member of an enum, has such a name.
    """
    class_ = NODES[json[0]]
    names = [field.name for field in dataclasses.fields(class_)]
    if names[-1] in _USUAL and len(json) == len(names):
        names.pop()
    fields = dict(zip(names, json[1:], strict=True))
    type_ = _decode_type(fields["type"]) if "type" in fields else None
    decoded = {name: _decode_field(name, value, type_) for name, value in fields.items()}
    node: Expression = class_(**decoded)
    return node


def encode_table(table: Table) -> Json:
    """Return a table as JSON: its columns, and each block as a list of cells for each column."""
    return {
        "columns": [encode(column) for column in table.columns],
        "blocks": [
            [[encode_value(row[position]) for row in block] for position, column in enumerate(table.columns)]
            for block in table.blocks
        ],
    }


def decode_table(json: Json) -> Table:
    """Return the table that was encoded; its blocks have rows."""
    columns = [decode(column) for column in json["columns"]]
    kinds = [column.type for column in columns if isinstance(column, Column)]
    blocks = tuple(
        tuple(
            zip(
                *(
                    [decode_value(cell, type_) for cell in cells]
                    for cells, type_ in zip(block, kinds, strict=True)
                ),
                strict=True,
            )
        )
        for block in json["blocks"]
    )
    return Table(tuple(column for column in columns if isinstance(column, Column)), blocks)


def encode_value(value: Value | None) -> Json:
    """Return a value as JSON, without its type."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Decimal):
        return str(value)
    return value.decode("latin-1") if isinstance(value, bytes) else value


def decode_value(json: Json, type_: Type) -> Value | None:
    """Return the value of a type that was encoded."""
    if json is None:
        return None
    if type_.floating:
        return float.fromhex(json)
    if type_.kind is Kind.DECIMAL:
        return Decimal(json)
    if type_.kind in types.BYTES:
        return bytes(json, "latin-1")
    value: Value = json
    return value


def _encode_field(value: Any, type_: Type | None) -> Json:
    if type(value) in NODE_TAGS:
        return encode(value)
    if isinstance(value, Type):
        return value.sql
    if isinstance(value, enum.Enum):
        return MEMBER_TAGS[value]
    if isinstance(value, tuple):
        return [_encode_field(part, type_) for part in value]
    return encode_value(value)


def _decode_field(name: str, json: Json, type_: Type | None) -> Any:
    if name == "type":
        return type_
    if name == "value":
        assert type_ is not None
        return decode_value(json, type_)
    if name in MEMBERS:
        return MEMBERS[name][json]
    if name in _BYTES_FIELDS:
        return bytes(json, "latin-1")
    if name == "fields":
        return tuple(json)
    if isinstance(json, list):
        return (
            decode(json) if json and isinstance(json[0], str) else tuple(_decode_part(part) for part in json)
        )
    return json


def _decode_part(json: Json) -> Any:
    """Decode a member of a field with many: a node, or a tuple of nodes."""
    return decode(json) if isinstance(json[0], str) else tuple(decode(part) for part in json)


def _decode_type(text: str) -> Type:
    if text.startswith("decimal("):
        precision, scale = text.removeprefix("decimal(").removesuffix(")").split(",")
        return types.decimal(int(precision), int(scale))
    kinds = {kind.value: kind for kind in Kind}
    return Type(kinds[text]) if text in kinds else types.unknown(text)
