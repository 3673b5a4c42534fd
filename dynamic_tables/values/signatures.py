"""What a function takes and gives, by the types of its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import Type
from pruning.errors import InputError

Types: TypeAlias = tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A function for arguments of certain types.

    Attributes:
        arguments: What the arguments are cast to first.
        apply: Of cells of these types; of none that is NULL, unless `null_aware`.
    """

    result: Type
    arguments: Types
    apply: Callable[..., Cell]
    null_aware: bool = False


Resolver: TypeAlias = Callable[[Types], Signature]


def fixed(result: Type, *arguments: Type, apply: Callable[..., Cell], optional: int = 0) -> Resolver:
    """A function whose arguments have fixed types; so many of the last may be left out."""

    def resolve(types: Types) -> Signature:
        if not len(arguments) - optional <= len(types) <= len(arguments):
            raise InputError(f"this function takes {len(arguments)} arguments, not {len(types)}")
        return Signature(result, arguments[: len(types)], apply)

    return resolve


def first(apply: Callable[[Any], Cell], *, result: Type | None = None) -> Resolver:
    """A function of one argument that takes what it is given, and gives that type or another."""

    def resolve(types: Types) -> Signature:
        if len(types) != 1:
            raise InputError(f"this function takes 1 argument, not {len(types)}")
        return Signature(result or types[0], types, apply)

    return resolve
