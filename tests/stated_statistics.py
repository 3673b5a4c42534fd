"""Bounds of values as writers of Delta Lake state them in JSON, with the habits of several writers."""

import json
import math
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1)
_AMSTERDAM_END_US = -1_025_745_572_000_000
# Spark cuts texts at so many characters, and adds the last character of Unicode to an upper bound.
_CUT = 32


class StatedDecimal(float):
    """A decimal that JSON has with all its digits."""

    def __new__(cls, text: str) -> "StatedDecimal":
        number = super().__new__(cls, float(text))
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text


def statistics_json(value: Any) -> str:
    """Return JSON in which decimals have all their digits."""
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(key)}:{statistics_json(part)}" for key, part in value.items()) + "}"
        )
    return value.text if isinstance(value, StatedDecimal) else json.dumps(value)


def stated_bounds(values: list[Any], type_: str, writer: str) -> tuple[Any, Any]:
    """Return the bounds of values as a writer has them, None where it leaves them out.

    Args:
        values: Values as the rules have them, without None.
        type_: Their type, as schemas of Delta Lake name it.
        writer: "exact" (whole texts), "rust", "spark", "spark 2", "cutting" (texts are cut), "toward zero" or
            "local" (times).
    """
    is_nan = [isinstance(value, float) and math.isnan(value) for value in values]
    numbers = [value for value, nan in zip(values, is_nan, strict=True) if not nan]
    if any(is_nan) and writer == "spark":
        # To Spark, NaN is the greatest number.
        return (_form(min(numbers), type_, writer, False) if numbers else "NaN"), "NaN"
    if any(is_nan) and writer == "spark 2":
        # A comparison with NaN is false, so that the value after it is taken for less.
        return _form(values[-1], type_, writer, False), "NaN"
    if not numbers:
        return None, None
    return _form(min(numbers), type_, writer, False), _form(max(numbers), type_, writer, True)


def _form(value: Any, type_: str, writer: str, is_upper: bool) -> Any:
    if type_ in ("timestamp", "timestamp_ntz"):
        return _time(value, type_, writer)
    if type_ == "date":
        return str(date(1970, 1, 1) + timedelta(value))
    if type_ == "string":
        return _text(value, writer, is_upper)
    if isinstance(value, Decimal):
        return float(value) if writer == "rust" else StatedDecimal(str(value))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return None if writer == "rust" else ("Infinity" if value > 0 else "-Infinity")
    if type_ == "float" and writer != "rust":
        return StatedDecimal(_shortest(value))
    return value


def _shortest(value: float) -> str:
    """Return the shortest decimal that stands for a float of 32 bits."""
    digits = (f"{value:.{count}g}" for count in range(1, 18))
    return next(text for text in digits if struct.pack("f", float(text)) == struct.pack("f", value))


def _time(value: int, type_: str, writer: str) -> str:
    milliseconds = int(value / 1000) if writer == "toward zero" else value // 1000
    # Amsterdam was 19 minutes and 32 seconds ahead until 1937, of which the offset has the minutes.
    is_shifted = writer == "local" and type_ == "timestamp" and value < _AMSTERDAM_END_US
    shift = timedelta(minutes=19, seconds=32) if is_shifted else timedelta()
    time = (_EPOCH + timedelta(milliseconds=milliseconds) + shift).isoformat(timespec="milliseconds")
    if type_ == "timestamp_ntz":
        return time.replace("T", " ") if writer == "rust" else time
    return time + ("+00:19" if shift else "Z")


def _text(value: bytes, writer: str, is_upper: bool) -> str:
    text = value.decode("utf-8", "replace")
    if writer not in ("spark", "spark 2", "cutting") or len(text) <= _CUT:
        return text
    if writer == "cutting" or not is_upper:
        return text[:_CUT]
    last = "\ufffd" if writer == "spark 2" else "\U0010ffff"
    end = next((place for place in range(_CUT, len(text)) if text[place] < last), len(text))
    return text[:end] + (last if end < len(text) else "")
