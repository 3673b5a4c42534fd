"""Subqueries of conditions, replaced by their values before the condition is evaluated."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from skipproof.stand.reference.answering import FOLDS, Rows
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.values import Value, to_answer
from strategies.engines.questions import Json

# Returns a term without subqueries for a subquery, whose operand has none.
Evaluate: TypeAlias = Callable[[Json], Json]

_NEVER = {"literal": False, "type": "boolean"}
MEMBERSHIPS = ("in", "exists")


def without_subqueries(question: Json, evaluate: Evaluate) -> Json:
    """Return a question whose condition has terms without subqueries for its subqueries."""
    source = question["source"]
    if source["where"] is None:
        return question
    return question | {"source": source | {"where": _without_queries(source["where"], evaluate)}}


def _without_queries(term: Json, evaluate: Evaluate) -> Json:
    """Return a term with terms without subqueries for its subqueries."""
    if "of" not in term:
        return term
    operands = [_without_queries(part, evaluate) for part in term["of"]]
    if "query" in term:
        return evaluate(term | {"of": operands})
    return term if operands == term["of"] else term | {"of": operands}


def value_of_subquery(term: Json, rows: Rows, schema: Schema) -> Json:
    """Return a term without subqueries for a subquery, from the rows of its relation."""
    position, type_ = schema[term["value"]]
    values = [row[position] for row in rows]
    if term["query"] in MEMBERSHIPS:
        return membership(term, values, type_)
    present = [value for value in values if value is not None]
    if term["query"] == "count":
        return constant(len(present), "int64")
    return constant(FOLDS[term["query"]](present) if present else None, type_)


def membership(term: Json, values: Sequence[Value], type_: str) -> Json:
    """Return IN or EXISTS over values; EXISTS is never NULL, and IN is false of no values, even for NULL."""
    is_in = term["query"] == "in"
    members = [value for value in dict.fromkeys(values) if is_in or value is not None]
    if not members:
        return _NEVER
    test = {"call": "in", "of": [*term["of"], *(constant(value, type_) for value in members)]}
    return test if is_in else {"call": "is true", "of": [test]}


def constant(value: Value, type_: str) -> Json:
    """Return a value as a constant; timestamps stay counts of their unit."""
    plain = value if type_.startswith("timestamp") else to_answer(value, type_)
    return {"literal": plain, "type": type_}
