"""Substitution: expression trees with some of their nodes replaced."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from pruning.expressions.trees import Expression, Opaque


def substitute(expression: Expression, replacements: Mapping[Expression, Expression]) -> Expression:
    """Return the expression with each node that equals a key replaced, outermost nodes first."""
    if expression in replacements:
        return replacements[expression]
    # The columns that an Opaque lists are not nodes of the tree.
    if isinstance(expression, Opaque):
        return expression
    parts = {field.name: getattr(expression, field.name) for field in fields(expression)}
    return replace(
        expression, **{name: _substitute_in_field(part, replacements) for name, part in parts.items()}
    )


def _substitute_in_field(part: Any, replacements: Mapping[Expression, Expression]) -> Any:
    """Substitute in a field's value: an expression, tuples of expressions at any depth, or anything else."""
    if isinstance(part, tuple):
        return tuple(_substitute_in_field(element, replacements) for element in part)
    return substitute(part, replacements) if isinstance(part, Expression) else part
