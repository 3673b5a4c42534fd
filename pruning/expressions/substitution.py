"""Trees with some of their nodes replaced."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from pruning.expressions.trees import Expression, Opaque


def substituted(expression: Expression, replacements: Mapping[Expression, Expression]) -> Expression:
    """The expression with each node that equals a key replaced, outermost nodes first."""
    if expression in replacements:
        return replacements[expression]
    # What an Opaque names is not part of any tree.
    if isinstance(expression, Opaque):
        return expression
    parts = {field.name: getattr(expression, field.name) for field in fields(expression)}
    return replace(expression, **{name: _within(part, replacements) for name, part in parts.items()})


def _within(part: Any, replacements: Mapping[Expression, Expression]) -> Any:
    """A field's value: an expression, tuples of them at any depth, or neither."""
    if isinstance(part, tuple):
        return tuple(_within(element, replacements) for element in part)
    return substituted(part, replacements) if isinstance(part, Expression) else part
