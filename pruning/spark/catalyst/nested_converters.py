"""Converters of fields of structs, of parts of arrays and maps and conditions on them, and of parts of texts.

A lambda's variable becomes an `Element` if its body belongs to one quantifier over an array that is a
column, or a field of structs. Arrays and maps in one another, quantifiers inside quantifiers and over maps,
and arrays and maps that are computed are not converted.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from pruning.expressions import types
from pruning.expressions.names import Inside, field_name, quoted_name
from pruning.expressions.trees import (
    Call,
    Case,
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    Function,
    In,
    IsNull,
    Literal,
    Quantified,
    Quantifier,
    type_of,
)
from pruning.metadata.table.schema import is_nested
from pruning.spark.catalyst.scope import Converter, Operands, Scope, have_same_type
from pruning.spark.jvm.datatypes import element_of, fields_of, map_parts_of, type_from_json
from pruning.spark.jvm.literals import literal_value, set_values
from pruning.spark.jvm.nodes import Node

_QUANTIFIERS = {"ArrayExists": Quantifier.EXISTS, "ArrayForAll": Quantifier.FORALL}
_LAMBDA = "LambdaFunction"
_SPLITS = ("StringSplit", "StringSplitSQL")
# In Java's regular expressions these characters stand for themselves, and an escaped punctuation mark too.
_PLAIN_PATTERN = re.compile(rb"(?:[^\\.$|()\[\]{}^?*+]|\\[!-/:-@\[-`{-~])+")
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
VARIABLE = "NamedLambdaVariable"


def attribute(node: Node, operands: Operands, scope: Scope) -> Column | None:
    """Return the column of an attribute; None if its name reads as that of a field, which no metadata has."""
    name = scope.names.get(node.fields["exprId"]["id"])
    if name is None or is_nested(name):
        return None
    return Column(name, type_from_json(node.fields["dataType"]))


def has_free_variables(parts: list[Node]) -> bool:
    """Tell whether a subtree, given as all its nodes, uses a variable of a lambda around it."""
    bound = {
        _variable_id(argument) for part in parts if part.name == _LAMBDA for argument in part.children[1:]
    }
    return any(part.name == VARIABLE and _variable_id(part) not in bound for part in parts)


def _field(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    struct = operands[0]
    if isinstance(struct, Call) and struct.function in (Function.ELEMENT_AT, Function.MAP_VALUE):
        element = _field_of(struct.operands[0], node)
        return element and replace(struct, operands=(element, *struct.operands[1:]), type=element.type)
    return _field_of(struct, node)


def _field_of(struct: Expression | None, node: Node) -> Column | Element | None:
    """Return the field of a struct that a node names by position; its name is the struct's own spelling."""
    if not isinstance(struct, Column | Element):
        return None
    name, type_ = fields_of(struct.type)[node.fields["ordinal"]]
    if isinstance(struct, Element):
        return replace(struct, fields=(*struct.fields, name), type=type_)
    if is_nested(struct.name):
        return Column(f"{struct.name}.{quoted_name(name)}", type_)
    return Column(field_name((struct.name, name)), type_)


def _array_elements(node: Node, scope: Scope) -> Element | None:
    """Return the elements of an array that is a column, or a field of each struct in such an array."""
    if node.name == "GetArrayStructFields":
        field = _field_of(_array_elements(node.children[0], scope), node)
        return field if isinstance(field, Element) else None
    column = _column(node, scope)
    type_ = None if column is None else element_of(column.type)
    return None if column is None or type_ is None else Element(column.name, (), type_)


def _column(node: Node, scope: Scope) -> Column | None:
    """Return a column or a field of one; None for any other node."""
    if node.name == "AttributeReference":
        return attribute(node, (), scope)
    if node.name != "GetStructField":
        return None
    field = _field_of(_column(node.children[0], scope), node)
    return field if isinstance(field, Column) else None


def _variable(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    function = _lambda_above(node)
    if function is None or function.parent is None or _lambda_above(function) is not None:
        return None
    if function.parent.name not in _QUANTIFIERS or list(map(_variable_id, function.children[1:])) != [
        _variable_id(node)
    ]:
        return None
    return _array_elements(function.parent.children[0], scope)


def _quantifier(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    array, function = node.children
    elements = _array_elements(array, scope)
    if elements is None or function.name != _LAMBDA or _lambda_above(node) is not None:
        return None
    # In Spark 2, EXISTS was FALSE where no element is TRUE and some are NULL.
    if not node.fields.get("followThreeValuedLogic", node.name == "ArrayForAll"):
        return None
    body = operands[1]
    return (
        Quantified(_QUANTIFIERS[node.name], elements.array, body) if type_of(body) == types.BOOLEAN else None
    )


def _lambda_body(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return operands[0] if len(operands) == 2 else None


def _contains(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `array_contains`, which is NULL if the member is NULL, even if the array is empty."""
    elements, member = _array_elements(node.children[0], scope), operands[1]
    if elements is None or _lambda_above(node) is not None or not have_same_type(elements, member):
        return None
    quantified = Quantified(Quantifier.EXISTS, elements.array, Compare(Comparison.EQUAL, elements, member))
    match member:
        case Literal(None):
            return None
        case Literal():
            return quantified
    return Case(((IsNull(member), Literal(None, types.BOOLEAN)),), quantified)


def _array_item(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `array[index]`, which counts from 0."""
    index = operands[1]
    if not isinstance(index, Literal) or not isinstance(index.value, int) or index.value < 0:
        return None
    return _item(node, Literal(index.value + 1, types.INTEGER), scope)


def _element_at(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `element_at` of an array or a map."""
    value = _map_value(node, operands, scope)
    if value is not None:
        return value
    return _item(node, operands[1], scope) if type_of(operands[1]) == types.INTEGER else None


def _map_value(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert the value of a key in a map that is a column, or a field of structs; NULL if there is none."""
    column, key = _column(node.children[0], scope), operands[1]
    parts = None if column is None else map_parts_of(column.type)
    if column is None or parts is None or _lambda_above(node) is not None:
        return None
    keys, values = (
        Element(column.name, (), part, inside)
        for part, inside in zip(parts, (Inside.KEYS, Inside.VALUES), strict=True)
    )
    if not keys.type.has_bounds or not have_same_type(keys, key):
        return None
    return Call(Function.MAP_VALUE, (values, keys, key), values.type)


def _item(node: Node, place: Expression, scope: Scope) -> Expression | None:
    """Return the element in a place, counted from 1, of an array or of the parts of a column of texts."""
    array = node.children[0]
    if array.name in _SPLITS:
        return _first_part(array, scope) if isinstance(place, Literal) and place.value == 1 else None
    element = _array_elements(array, scope)
    if element is None or _lambda_above(node) is not None:
        return None
    return Call(Function.ELEMENT_AT, (element, place), element.type)


def _first_part(split: Node, scope: Scope) -> Expression | None:
    """Return what comes before the first separator of a text; None if that is no constant text.

    Spark reads faults of a text that is not UTF-8 as U+FFFD, which SUBSTRING_INDEX may do.
    """
    text, separator = _column(split.children[0], scope), split.children[1]
    if text is None or text.type != types.STRING or separator.name != "Literal":
        return None
    constant = literal_value(separator, types.STRING)
    assert isinstance(constant, bytes)
    if split.name == "StringSplit":
        limit = split.children[2]
        if limit.name != "Literal" or int(limit.fields["value"]) == 1:
            return None
        constant = _literal_pattern(constant)
    if not constant:
        return None
    parts = Literal(constant, types.STRING), Literal(1, types.INTEGER)
    return Call(Function.SUBSTRING_INDEX, (text, *parts), types.STRING)


def _literal_pattern(pattern: bytes) -> bytes:
    """Return the text that a regular expression of plain and escaped characters matches; else nothing."""
    match = _PLAIN_PATTERN.fullmatch(pattern)
    return _ESCAPED.sub(rb"\1", pattern) if match else b""


def _extreme_item(function: Function) -> Converter:
    """Return the converter of the least or the greatest element."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        element = _array_elements(node.children[0], scope)
        if element is None or _lambda_above(node) is not None:
            return None
        return Call(function, (element,), element.type)

    return converter


def _overlap(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `arrays_overlap` with a constant array: an element is in the list."""
    if _lambda_above(node) is not None:
        return None
    for array, listed in (node.children, node.children[::-1]):
        elements = _array_elements(array, scope)
        if elements is None or listed.name != "Literal" or not elements.type.has_bounds:
            continue
        java = listed.java()
        if element_of(type_from_json(listed.fields["dataType"])) != elements.type or java.value() is None:
            return None
        values = set_values(java.value().toSeq(java.dataType().elementType()), elements.type)
        members = tuple(Literal(value, elements.type) for value in values)
        return Quantified(Quantifier.EXISTS, elements.array, In(elements, members)) if members else None
    return None


def _lambda_above(node: Node) -> Node | None:
    """Return the innermost lambda that contains a node; None if there is none."""
    above = node.parent
    while above is not None and above.name != _LAMBDA:
        above = above.parent
    return above


def _variable_id(variable: Node) -> int:
    id_: int = variable.fields["exprId"]["id"]
    return id_


NESTED: Mapping[str, Converter] = {
    "AttributeReference": attribute,
    "GetStructField": _field,
    VARIABLE: _variable,
    _LAMBDA: _lambda_body,
    "ArrayExists": _quantifier,
    "ArrayForAll": _quantifier,
    "ArrayContains": _contains,
    "ArraysOverlap": _overlap,
    "GetArrayItem": _array_item,
    "GetMapValue": _map_value,
    "ElementAt": _element_at,
    "ArrayMax": _extreme_item(Function.ARRAY_MAX),
    "ArrayMin": _extreme_item(Function.ARRAY_MIN),
}
