"""The parameters of prepared questions: the constants of their conditions, numbered from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def with_parameters(question: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a question whose literals in WHERE have the number of their parameter, and these literals."""
    literals: list[dict[str, Any]] = []

    def number(literal: dict[str, Any]) -> dict[str, Any]:
        literals.append(literal)
        return dict(literal, parameter=len(literals))

    return _change_literals(question, number), literals


def with_nulls(question: dict[str, Any]) -> dict[str, Any]:
    """Return a question whose literals in WHERE are NULL."""
    return _change_literals(question, lambda literal: dict(literal, literal=None))


def _change_literals(
    question: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return a question with each literal of its conditions changed, those of its relations included."""

    def of_term(term: Any) -> Any:
        if term is None or "column" in term:
            return term
        if "literal" in term:
            return change(term)
        parts = dict(term, of=[of_term(part) for part in term["of"]])
        return dict(parts, relation=of_relation(term["relation"])) if "query" in term else parts

    def of_relation(relation: dict[str, Any]) -> dict[str, Any]:
        return dict(relation, where=of_term(relation["where"]))

    def of_right(part: Any) -> Any:
        return None if part is None else dict(part, right=of_relation(part["right"]))

    return dict(
        question,
        source=of_relation(question["source"]),
        where=of_term(question["where"]),
        **{name: of_right(question.get(name)) for name in ("join", "second", "set")},
    )
