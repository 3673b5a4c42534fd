"""Limits of characters and digits, as casts to VARCHAR(n) and NUMBER(p, s) have them."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.signatures import Resolver, Signature, Types, fixed_types
from dynamic_tables.values.types import EXACT_NUMBERS, INTEGER, TEXT
from pruning.errors import InputError


def limited_text(text: str, length: int) -> str:
    """Return a text of at most this many characters.

    Raises:
        CastFailed: It has more.
    """
    if len(text) > length:
        raise CastFailed(f"{text!r} has more than {length} characters")
    return text


def limited_number(value: int | Decimal, digits: int, scale: int) -> int | Decimal:
    """Return a number of at most this many digits, of which `scale` are behind the point.

    Raises:
        CastFailed: It has more.
    """
    limit: int = 10 ** (digits - scale)
    if not -limit < value < limit:
        raise CastFailed(f"{value} has more than {digits} digits, {scale} of them behind the point")
    return value


def lenient(apply: Callable[..., Cell]) -> Callable[..., Cell]:
    """Return a computation that gives NULL in place of a failed cast."""

    def run(*cells: Cell) -> Cell:
        try:
            return apply(*cells)
        except CastFailed:
            return None

    return run


def digits_resolver(*, is_lenient: bool) -> Resolver:
    """Return the resolver of the limit of a number's digits."""

    def resolve(types: Types) -> Signature:
        number, digits = types
        if number.kind not in EXACT_NUMBERS:
            raise InputError(f"digits are those of exact numbers, not of {number}")

        def apply(value: int | Decimal, count: int) -> Cell:
            return limited_number(value, count, number.scale)

        return Signature(number, (number, digits), lenient(apply) if is_lenient else apply)

    return resolve


# These names have a blank, so that no query can call them.
LIMITS: Mapping[str, Resolver] = {
    "limit characters": fixed_types(TEXT, TEXT, INTEGER, apply=limited_text),
    "try limit characters": fixed_types(TEXT, TEXT, INTEGER, apply=lenient(limited_text)),
    "limit digits": digits_resolver(is_lenient=False),
    "try limit digits": digits_resolver(is_lenient=True),
}
