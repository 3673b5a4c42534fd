"""Checks of the arguments of public functions; each raises an error that names the argument.

Annotations are not enforced at run time. A value of a wrong type must not be taken for False or None, because
a wrong plan would follow.
"""

import enum
import math
import numbers
from collections.abc import Sequence
from typing import Any

from pruning.errors import InputError

# The sizes of blocks: row groups, or runs of pages.
LEVELS = ("row_group", "page")
_SHOWN = 60


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, bool):
        raise InputError(f"{name} is {describe_value(value)}; give True or False.")


def check_choice(name: str, value: Any, choices: type[enum.Enum]) -> None:
    """Refuse a value that is not a member of an enumeration, such as a member's name.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, choices):
        members = ", ".join(f"{choices.__name__}.{member.name}" for member in choices)
        raise InputError(f"{name} is {describe_value(value)}; give one of {members}.")


def check_option(name: str, value: Any, options: Sequence[str]) -> None:
    """Refuse a value that is not one of a few texts.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, str) or value not in options:
        listed = " or ".join(map(repr, options))
        raise InputError(f"{name} is {describe_value(value)}; give {listed}.")


def check_text(name: str, value: Any) -> None:
    """Refuse a value that is not text, or text that cannot be encoded as UTF-8.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}; give text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} is {describe_value(value)}, which has half of a character; give text."
        ) from error


def check_texts(name: str, values: Any) -> None:
    """Refuse a value that is not a sequence of texts; a single text is refused too.

    Raises:
        InputError: as the first line says.
    """
    check_sequence(name, values, "texts")
    for value in values:
        check_text(f"An element of {name}", value)


def check_sequence(name: str, values: Any, of: str) -> None:
    """Refuse a value that is not a list or another sequence; text and bytes are refused too.

    Raises:
        InputError: as the first line says.
    """
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Sequence):
        raise InputError(f"{name} is {describe_value(values)}; give a list of {of}.")


def check_number(
    name: str, value: Any, *, least: float, greatest: float = math.inf, whole: bool = False
) -> None:
    """Refuse a value that is not a number from `least` to `greatest`; True and False are refused too.

    Raises:
        InputError: as the first line says.
    """
    fits = isinstance(value, numbers.Integral if whole else numbers.Real)
    if not fits or isinstance(value, bool) or not least <= value <= greatest:
        limit = "on" if math.isinf(greatest) else f"to {greatest:g}"
        kind = "whole number" if whole else "number"
        raise InputError(f"{name} is {describe_value(value)}; give a {kind} from {least:g} {limit}.")


def describe_value(value: Any) -> str:
    """Describe a value for an error message: short, on one line, without calling an unknown `repr`."""
    if isinstance(value, str | bytes | int | float | None):
        text = ascii(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"a {type(value).__name__}"
