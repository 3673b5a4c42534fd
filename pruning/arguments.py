"""Checks of the arguments of public functions: each raises one sentence that names the argument.

A type annotation stops nobody. A value of another type than an argument's must never pass for "no" or
"nothing": a plan that is made of it would be a wrong one.
"""

import enum
import math
import numbers
from collections.abc import Sequence
from typing import Any

from pruning.errors import InputError

_SHOWN = 60


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; give True or False.")


def check_choice(name: str, value: Any, choices: type[enum.Enum]) -> None:
    """Refuse what is no member of an enumeration, such as a member's name.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, choices):
        members = ", ".join(f"{choices.__name__}.{member.name}" for member in choices)
        raise InputError(f"{name} is {shown(value)}; give one of {members}.")


def check_text(name: str, value: Any) -> None:
    """Refuse what is no text, or text that has no UTF-8 bytes.

    Raises:
        InputError: as the first line says.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}; give text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} is {shown(value)}, which has half of a character; give text.") from error


def check_texts(name: str, values: Any) -> None:
    """Refuse what is no sequence of texts; a text alone is none.

    Raises:
        InputError: as the first line says.
    """
    check_sequence(name, values, "texts")
    for value in values:
        check_text(f"An element of {name}", value)


def check_sequence(name: str, values: Any, of: str) -> None:
    """Refuse what is no list or other sequence; text and bytes are none.

    Raises:
        InputError: as the first line says.
    """
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Sequence):
        raise InputError(f"{name} is {shown(values)}; give a list of {of}.")


def check_number(
    name: str, value: Any, *, least: float, greatest: float = math.inf, whole: bool = False
) -> None:
    """Refuse what is no number between two others, both included; a flag is no number.

    Raises:
        InputError: as the first line says.
    """
    fits = isinstance(value, numbers.Integral if whole else numbers.Real)
    if not fits or isinstance(value, bool) or not least <= value <= greatest:
        limit = "on" if math.isinf(greatest) else f"to {greatest:g}"
        kind = "whole number" if whole else "number"
        raise InputError(f"{name} is {shown(value)}; give a {kind} from {least:g} {limit}.")


def shown(value: Any) -> str:
    """A value as a sentence shows it: short, on one line, and whatever its `repr` does."""
    if isinstance(value, str | bytes | int | float | None):
        text = ascii(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"a {type(value).__name__}"
