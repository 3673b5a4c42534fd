"""Timestamps in INT96, where Arrow is certain to read the microseconds that Spark reads.

A value is a Julian day, 32 bits, and the nanoseconds of the day, 64 bits. Spark takes both as signed numbers,
Arrow as unsigned ones, and Arrow's microseconds may overflow. Impala's files are read in another time zone.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import Physical
from pruning.metadata.index.encodings import SAME_FROM

_MILLIS_MIN = -(-SAME_FROM[Kind.TIMESTAMP] // 1_000)
_MILLIS_MAX = ((1 << 63) - 1) // 1_000 - 1


def is_int96(leaf: SchemaLeaf) -> bool:
    """Tell whether a column's physical type is INT96."""
    return bool(leaf.element.type == Physical.INT96)


def is_read_alike(millis: pa.ChunkedArray) -> bool:
    """Tell whether Arrow reads the microseconds that Spark reads, in a file that Spark wrote.

    Claim     Where all values are in the range below, both read the same microseconds.
    Premises  Arrow's milliseconds are (day - 2440588) * 86400000 + nanos / 1000000, of unsigned numbers,
              which never overflow. Spark writes nanoseconds from 0 up to a day; less only if the day is 0
              or less.
    Proof     (1) The day is below 2^31 and not negative, as the value would exceed the range otherwise.
              (2) If the day were 0, the value would be less than the range, whatever the nanoseconds.
              (3) So the nanoseconds are not negative, and the microseconds do not overflow.
              (4) From 1900 on, no calendar shifts a value.
    Unsound   for other writers, which may store any nanoseconds.

    Args:
        millis: The column as Arrow reads it in milliseconds.
    """
    extremes = pc.min_max(millis.cast(pa.int64()))
    if not extremes["min"].is_valid:
        return True
    return bool(extremes["min"].as_py() >= _MILLIS_MIN and extremes["max"].as_py() <= _MILLIS_MAX)
