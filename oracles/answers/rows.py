"""Bags of rows, and whether two answers hold the same rows equally often, in any order.

Values are equal where GROUP BY and EXCEPT ALL treat them as equal: every NaN is one value, and -0.0
is 0.0.

Shares   nothing with the pruning.
Trusts   Spark's hashing and EXCEPT ALL.
Removes  order.
Leaves   collisions: fingerprints of different bags agree by chance about once in 2**64 pairs, and
         where they differ only in where a NULL stands *inside* an array or a struct. The exact
         comparison has neither weakness.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strategies.base.tables import Row

Bag: TypeAlias = Counter[tuple[object, ...]]

_NAN = "NaN"  # equal to itself, unlike the number NaN
_ROWS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The number of rows of a bag, and the sum of their 64-bit hashes."""

    row_count: int
    hash_sum: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A few rows that one answer has more often than the other, as Spark shows them."""

    missing: tuple[str, ...]
    extra: tuple[str, ...]

    def __str__(self) -> str:
        return f"missing: {', '.join(self.missing) or 'none'}; extra: {', '.join(self.extra) or 'none'}"


def bag(rows: Iterable[Row]) -> Bag:
    """Return how often each row occurs."""
    return Counter(tuple(_canonical_cell(cell) for cell in row) for row in rows)


def fingerprint(frame: DataFrame) -> Fingerprint:
    """Return a bag's fingerprint, computed by one aggregation in one pass; cheap at any size.

    Raises:
        ValueError: A column is a map, or holds one: Spark neither hashes nor compares maps.
    """
    numbered = _with_numbered_columns(frame)
    row = numbered.agg(F.count(F.lit(1)), F.sum(_row_hash(numbered).cast("decimal(20,0)"))).collect()[0]
    return Fingerprint(int(row[0]), int(row[1] or 0))


def bag_difference(actual: DataFrame, expected: DataFrame, *, exact: bool = False) -> Difference | None:
    """Return the difference of two DataFrames as bags; None if they are equal.

    Args:
        exact: Compare the rows themselves instead of fingerprints, which shuffles both sides twice.
        Raises:
            ValueError: The columns' types differ, or one is a map.
    """
    types = [[type_ for _, type_ in frame.dtypes] for frame in (actual, expected)]
    if types[0] != types[1]:
        raise ValueError(f"answers of types {types[0]} and {types[1]} cannot be compared; select the same")
    if not exact and fingerprint(actual) == fingerprint(expected):
        return None
    actual_rows, expected_rows = _with_numbered_columns(actual), _with_numbered_columns(expected)
    bags = Difference(
        missing=_some_rows(expected_rows.exceptAll(actual_rows)),
        extra=_some_rows(actual_rows.exceptAll(expected_rows)),
    )
    return bags if bags.missing or bags.extra or not exact else None


def _canonical_cell(cell: object) -> object:
    # The type is part of the key, because Python treats True, 1 and 1.0 as equal.
    if isinstance(cell, float):
        return (float, _NAN if math.isnan(cell) else cell + 0.0)
    return (type(cell), cell)


def _with_numbered_columns(frame: DataFrame) -> DataFrame:
    """Return the frame with columns named by position, since the answer of a join may repeat a name."""
    for name, type_ in frame.dtypes:
        if "map<" in type_:
            raise ValueError(f"column {name} is a {type_}, which Spark cannot compare; select its entries")
    return frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))


def _row_hash(frame: DataFrame) -> Column:
    # Spark's hash ignores NULLs, so that (1, NULL) and (NULL, 1) would have the same hash.
    flags = [F.col(name).isNull() for name in frame.columns]
    return F.xxhash64(F.lit(len(flags)), *flags, *(F.col(name) for name in frame.columns))


def _some_rows(frame: DataFrame) -> tuple[str, ...]:
    return tuple(str(tuple(row)) for row in frame.limit(_ROWS_SHOWN).collect())
