"""Signatures of aggregate functions: the type they take and give, and their computation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import FLOAT, INTEGER, NUMBERS, Kind, Type
from pruning.errors import InputError

# Computes an aggregate from the cells of a group that are not NULL.
Compute: TypeAlias = Callable[[Sequence[Any]], Cell]


@dataclass(frozen=True, slots=True)
class AggregateSignature:
    """An aggregate function resolved for one type of argument."""

    result: Type
    argument: Type
    compute: Compute


AggregateResolver: TypeAlias = Callable[[Type], AggregateSignature]


def numeric_argument(name: str, argument: Type) -> Type:
    """Return the type to which a numeric argument is cast; raise InputError for one that is no number."""
    if argument.kind in (Kind.VARIANT, Kind.NULL):
        return FLOAT if argument.kind is Kind.VARIANT else INTEGER
    if argument.kind not in NUMBERS:
        raise InputError(f"{name} takes numbers, not {argument}: cast it")
    return argument
