"""The classes of published pruning bugs by their questions: each reads columns, and can be taken away.

What is left is the simplest question of the same kind: NOT without its NOT, an OR's first branch, an
expression's column. LIMIT, orders, joins and aggregates concern every column that the question reads; the
others only the columns of their expressions, and LIKE those whose values are in its texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skipproof.stand.hunt.reach.scenes import Scene
from skipproof.stand.hunt.reach.terms import (
    REMOVED,
    TESTS,
    ChangeTerm,
    columns_of_value,
    columns_read,
    columns_under,
    family,
    first_column,
    parts_of,
    with_terms,
)
from skipproof.stand.reference.answering import aggregated_schema
from skipproof.stand.reference.evaluating import Schema, type_of
from strategies.engines.questions import ROW_NUMBER, Json

_RANGES = ("<", "<=", ">", ">=", "between")
_SEMI_JOINS = ("in", "exists")


@dataclass(frozen=True, slots=True)
class QueryClass:
    """A property of a question.

    Attributes:
        columns: Returns the columns that are concerned; none if the question does not have the property.
        without: Returns the question without it.
    """

    columns: Callable[[Scene], frozenset[str]]
    without: Callable[[Scene], Json]


def _of_parts(
    is_concerned: Callable[[Json], bool],
    change: ChangeTerm,
    columns_of_part: Callable[[Json, Json], frozenset[str]] = columns_under,
) -> QueryClass:
    """Return the class of questions with calls, subqueries or joins of some kind.

    Args:
        columns_of_part: Returns the columns that such a part of a question concerns.
    """

    def columns(scene: Scene) -> frozenset[str]:
        names = set[str]()
        for part in parts_of(scene.question):
            if is_concerned(part):
                keys = {part[key] for key in ("left_key", "right_key") if key in part}
                names |= keys or columns_of_part(part, scene.question)
        return frozenset(names)

    def without(scene: Scene) -> Json:
        changed = with_terms(scene.question, lambda term: change(term) if is_concerned(term) else term)
        joins = {key: changed[key] for key in ("join", "second") if changed[key] is not None}
        return changed | {key: change(join) if is_concerned(join) else join for key, join in joins.items()}

    return QueryClass(columns, without)


def _is_null_aware(part: Json) -> bool:
    if part.get("kind") == "not in" or part.get("null_safe"):
        return True
    call = part.get("call")
    if call == "in":
        return None in _literals(part)
    if call == "not":
        return "in" in (part["of"][0].get("call"), part["of"][0].get("query"))
    return call in ("is null", "is not null", "is distinct from", "is not distinct from")


def _literals(call: Json) -> list[Any]:
    """Return the values of the operands after the first that are literals."""
    return [part["literal"] for part in call["of"][1:] if "literal" in part]


def _without_null(part: Json) -> Json:
    """Return what a test, or a join, is to who knows no NULL."""
    if "left_key" in part:
        kind = "anti" if part["kind"] == "not in" else part["kind"]
        return part | {"kind": kind, "null_safe": False}
    call, of = part["call"], part["of"]
    if call == "in":
        members = [member for member in of[1:] if member.get("literal", 0) is not None]
        return part | {"of": [of[0], *members]} if members else REMOVED
    if call == "not":
        return part | {"of": [{"call": "is true", "of": of}]}
    comparisons = {"is distinct from": "!=", "is not distinct from": "="}
    return part | {"call": comparisons[call]} if call in comparisons else REMOVED


def _is_negation(part: Json) -> bool:
    return part.get("kind") in ("anti", "not in") or part.get("call") in ("not", "!=", "is distinct from")


def _without_negation(part: Json) -> Json:
    if "left_key" in part:
        return part | {"kind": "semi"}
    if part["call"] == "not":
        return part["of"][0]
    return part | {"call": {"!=": "=", "is distinct from": "is not distinct from"}[part["call"]]}


def _is_list(part: Json) -> bool:
    return bool(part.get("call") == "in")


def _without_list(part: Json) -> Json:
    """Return a comparison with the first member, of two or more the first that is not NULL."""
    members = [member for member in part["of"][1:] if member.get("literal", 0) is not None]
    return {"call": "=", "of": [part["of"][0], (members or part["of"][1:])[0]]}


def _is_pattern(part: Json) -> bool:
    return part.get("call") in ("like", "starts with")


def _is_range(part: Json) -> bool:
    return part.get("call") in _RANGES


def _as_equality(part: Json) -> Json:
    return {"call": "=", "of": part["of"][:2]}


def _is_disjunction(part: Json) -> bool:
    return bool(part.get("call") == "or")


def _first_branch(part: Json) -> Json:
    return part["of"][0]


def _computed_columns(scene: Scene) -> frozenset[str]:
    computed = (part for part in parts_of(scene.question) if _is_computed(part))
    return frozenset[str]().union(*(columns_under(part, scene.question) for part in computed))


def _is_computed(part: Json) -> bool:
    return "call" in part and part["call"] not in TESTS


def _without_expressions(scene: Scene) -> Json:
    """Return the question with columns for the expressions; a test goes if the type would be another."""
    schema = _schema(scene)
    return _plain_node(scene.question, schema)


def _schema(scene: Scene) -> Schema:
    """Return the types of all columns, also of those of an answer with aggregates."""
    columns = {name: place for table in scene.tables.values() for name, place in table.schema.items()}
    if not scene.question["aggregates"]:
        return columns
    return {**columns, **aggregated_schema(scene.question, columns)}


def _plain_node(node: Json, schema: Schema) -> Json:
    """Return a question, or a part of it, without expressions that are no tests."""
    if isinstance(node, list):
        return [_plain_node(child, schema) for child in node]
    if not isinstance(node, dict):
        return node
    if _is_computed(node):
        return first_column(node) or node
    if ("call" in node or "query" in node) and any(_is_of_other_type(part, schema) for part in node["of"]):
        return REMOVED
    # The outputs of aggregates and groups are tested as values of their types.
    typed = {key for key in ("of", "group") if _is_output(node, key) and _is_of_other_type(node[key], schema)}
    changed = {key: child if key in typed else _plain_node(child, schema) for key, child in node.items()}
    return with_terms(changed, lambda term: term) if "call" in changed else _without_conditions(changed)


def _is_output(node: Json, key: str) -> bool:
    """Tell whether an expression is that of an aggregate or of a group."""
    return isinstance(node.get(key), dict) and (key == "group" or "function" in node)


def _without_conditions(node: Json) -> Json:
    """Return a part of a question without the conditions that are taken away."""
    return {key: None if child == REMOVED else child for key, child in node.items()}


def _is_of_other_type(term: Json, schema: Schema) -> bool:
    """Tell whether an operand of a test is an expression of another type than its column."""
    column = first_column(term) if _is_computed(term) else None
    return column is not None and family(type_of(term, schema)) != family(type_of(column, schema))


def _all_columns_if(is_present: Callable[[Json], bool]) -> Callable[[Scene], frozenset[str]]:
    """Return a function that gives all columns that a question reads if a part of it has a property."""

    def columns(scene: Scene) -> frozenset[str]:
        has = any(map(is_present, parts_of(scene.question)))
        return columns_read(scene.question) if has else frozenset()

    return columns


def _is_join(part: Json) -> bool:
    return "left_key" in part or part.get("query") in _SEMI_JOINS


def _without_joins(scene: Scene) -> Json:
    """Return the question about the left table alone."""
    question = with_terms(scene.question, lambda term: REMOVED if term.get("query") in _SEMI_JOINS else term)
    if question["join"] is None:
        return question
    left = scene.tables[question["source"]["table"]].schema.keys()
    where = question["where"]
    return question | {
        "join": None,
        "second": None,
        "where": where if where is not None and columns_under(where, question) <= left else None,
        "select": [name for name in question["select"] if name in left],
        "order": [key for key in question["order"] if columns_under(key, question) <= left],
    }


def _is_limited(part: Json) -> bool:
    return part.get("limit") is not None or bool(part.get("offset"))


def _is_ordered(part: Json) -> bool:
    return _is_limited(part) and bool(part["order"])


def _with_limited_parts(changes: dict[str, Any]) -> Callable[[Scene], Json]:
    """Return a function that gives a question whose parts with a LIMIT have other values of some keys."""

    def change(node: Json) -> Json:
        if isinstance(node, list):
            return [change(child) for child in node]
        if not isinstance(node, dict):
            return node
        return {key: change(child) for key, child in (node | (changes if _is_limited(node) else {})).items()}

    return lambda scene: change(scene.question)


def _aggregates(part: Json) -> bool:
    return bool(part.get("aggregates"))


def _without_aggregates(scene: Scene) -> Json:
    plain: dict[str, Sequence[Any] | int | None] = {
        "aggregates": [], "group": None, "having": None, "order": [], "limit": None, "offset": 0,
        "select": [ROW_NUMBER],
    }  # fmt: skip
    return scene.question | plain


QUERY_CLASSES: Mapping[str, QueryClass] = {
    "NULLSAFE": _of_parts(_is_null_aware, _without_null),
    "NEG": _of_parts(_is_negation, _without_negation),
    "JOIN": QueryClass(_all_columns_if(_is_join), _without_joins),
    "LIMIT": QueryClass(_all_columns_if(_is_limited), _with_limited_parts({"limit": None, "offset": 0})),
    "TOPK": QueryClass(_all_columns_if(_is_ordered), _with_limited_parts({"order": []})),
    "EXPR": QueryClass(_computed_columns, _without_expressions),
    "OR": _of_parts(_is_disjunction, _first_branch),
    "IN": _of_parts(_is_list, _without_list),
    "AGG": QueryClass(_all_columns_if(_aggregates), _without_aggregates),
    "LIKE": _of_parts(_is_pattern, _as_equality, columns_of_value),
    "RANGE": _of_parts(_is_range, _as_equality),
}
