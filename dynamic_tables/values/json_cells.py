"""JSON text as cells: lists become tuples; numbers stay as written."""

import json
import math
from typing import Any

from dynamic_tables.values.cells import NAN
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import CastFailed


def parse_json(text: str) -> Cell:
    """Parse JSON text into a cell.

    Raises:
        CastFailed: The text is not JSON.
    """
    try:
        return to_cell(json.loads(text))
    except ValueError:
        raise CastFailed(f"{text!r} is no JSON") from None


def to_cell(value: Any) -> Cell:
    """Convert a value of Python's JSON parser to a cell."""
    if isinstance(value, list):
        return tuple(map(to_cell, value))
    if isinstance(value, dict):
        return {name: to_cell(part) for name, part in value.items()}
    if isinstance(value, float) and math.isnan(value):
        return NAN
    scalar: Cell = value  # text, number, boolean or NULL, as JSON has them
    return scalar
