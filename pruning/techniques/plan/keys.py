"""Bounds of one key, such as an ORDER BY value or a join key, in each block of a scan."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.expressions.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyBounds:
    """The bounds of one key's values, a lane per block; every array has shape (blocks,).

    Each row of a block is NULL (only if `may_null`), NaN (only if `may_nan`), or a value (only if
    `may_value`) that `lower` and `upper` enclose where they are known.

    Attributes:
        type: The key's type.
        lower: Lanes of the type as `rules.interpreters.arrow.interpreter.lane_type` says; null is unknown.
        upper: Likewise.
        lower_exact: True if a live row of the block attains `lower`; False is "widened".
        upper_exact: Likewise.
        null_counts: Live rows that are NULL, -1 where unknown.
        nan_counts: Live rows that are NaN, -1 where unknown; 0 for types without NaN.
    """

    type: Type
    lower: pa.Array
    upper: pa.Array
    may_null: np.ndarray
    may_nan: np.ndarray
    may_value: np.ndarray
    lower_exact: np.ndarray
    upper_exact: np.ndarray
    null_counts: np.ndarray
    nan_counts: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)
