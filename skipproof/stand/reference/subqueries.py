"""Subqueries of conditions, replaced by their values before the condition is evaluated."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from skipproof.stand.reference.answering import FOLDS, Rows
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.values import Value, to_answer
from strategies.engines.questions import Json

# Returns the rows of a relation, and their schema.
ReadRelation: TypeAlias = Callable[[Json], tuple[Rows, Schema]]

_NEVER = {"literal": False, "type": "boolean"}


def without_subqueries(question: Json, read: ReadRelation) -> Json:
    """Return a question whose condition has constants for its subqueries."""
    source = question["source"]
    if source["where"] is None:
        return question
    return question | {"source": source | {"where": _evaluated(source["where"], read)}}


def _evaluated(term: Json, read: ReadRelation) -> Json:
    """Return a term with constants for its subqueries."""
    if "of" not in term:
        return term
    operands = [_evaluated(part, read) for part in term["of"]]
    if "query" not in term:
        return term if operands == term["of"] else term | {"of": operands}
    rows, schema = read(term["relation"])
    position, type_ = schema[term["value"]]
    values = [row[position] for row in rows]
    if term["query"] in ("in", "exists"):
        return _membership(term["query"], operands[0], values, type_)
    present = [value for value in values if value is not None]
    if term["query"] == "count":
        return {"literal": len(present), "type": "int64"}
    return _constant(FOLDS[term["query"]](present) if present else None, type_)


def _membership(kind: str, operand: Json, values: Sequence[Value], type_: str) -> Json:
    """Return IN or EXISTS over values; EXISTS is never NULL, and IN is false of no values, even for NULL."""
    members = [value for value in dict.fromkeys(values) if kind == "in" or value is not None]
    if not members:
        return _NEVER
    found = {"call": "in", "of": [operand, *(_constant(value, type_) for value in members)]}
    return found if kind == "in" else {"call": "is true", "of": [found]}


def _constant(value: Value, type_: str) -> Json:
    """Return a value as a constant; timestamps stay counts of their unit."""
    plain = value if type_.startswith("timestamp") else to_answer(value, type_)
    return {"literal": plain, "type": type_}
