"""JSON text as cells: lists become tuples, and numbers stay what they are."""

import json
import math
from typing import Any

from dynamic_tables.values.cells import NAN
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import CastFailed


def parsed_json(text: str) -> Cell:
    """The value that a text of JSON holds.

    Raises:
        CastFailed: It is no JSON.
    """
    try:
        return frozen(json.loads(text))
    except ValueError:
        raise CastFailed(f"{text!r} is no JSON") from None


def frozen(value: Any) -> Cell:
    """A value of Python's reader as a cell."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return {name: frozen(part) for name, part in value.items()}
    if isinstance(value, float) and math.isnan(value):
        return NAN
    scalar: Cell = value  # text, number, boolean or NULL, as JSON has them
    return scalar
