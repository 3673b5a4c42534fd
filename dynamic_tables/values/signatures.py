"""Signatures of functions: the types they take and give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import Type
from pruning.errors import InputError

Types: TypeAlias = tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A function resolved for arguments of certain types.

    Attributes:
        arguments: The types to which the arguments are cast first.
        apply: The computation on cells of these types; it gets no NULL unless `null_aware`.
    """

    result: Type
    arguments: Types
    apply: Callable[..., Cell]
    null_aware: bool = False


Resolver: TypeAlias = Callable[[Types], Signature]


def fixed_types(result: Type, *arguments: Type, apply: Callable[..., Cell], optional: int = 0) -> Resolver:
    """Return the resolver of a function of fixed argument types; the last `optional` may be left out."""

    def resolve(types: Types) -> Signature:
        if not len(arguments) - optional <= len(types) <= len(arguments):
            raise InputError(f"this function takes {len(arguments)} arguments, not {len(types)}")
        return Signature(result, arguments[: len(types)], apply)

    return resolve


def one_argument(apply: Callable[[Any], Cell], *, result: Type | None = None) -> Resolver:
    """Return the resolver of a function of one argument of any type; `result` defaults to that type."""

    def resolve(types: Types) -> Signature:
        if len(types) != 1:
            raise InputError(f"this function takes 1 argument, not {len(types)}")
        return Signature(result or types[0], types, apply)

    return resolve
