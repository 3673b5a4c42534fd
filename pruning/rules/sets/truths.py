"""The verdict on a block, and SQL's three truth values as a set."""

import enum
from collections.abc import Iterator

import numpy as np


class Match(enum.IntEnum):
    """The verdict on one block and one predicate ([P] 3 and 4.2)."""

    NONE = 0  # no row can satisfy the predicate, or there is no row: the block may be skipped
    SOME = 1  # nothing is proved: the block must be read
    ALL = 2  # every row satisfies the predicate


def match_codes(may_be_true: np.ndarray | int, always_true: np.ndarray | int) -> np.ndarray:
    """Return the `Match` of each block as int8, from two flags of its rows.

    Args:
        may_be_true: Whether the predicate may be TRUE on some row; booleans, or bytes of 0 and 1.
        always_true: Whether there is a row and the predicate is TRUE on every row; implies `may_be_true`.
    """
    # The codes are 0, 1 and 2, so the sum of the flags is the code.
    codes: np.ndarray = np.asarray(may_be_true).astype(np.int8, copy=False) + np.asarray(always_true).astype(
        np.int8, copy=False
    )
    return codes


class Truths(enum.Flag):
    """A set of SQL's truth values."""

    TRUE = enum.auto()
    FALSE = enum.auto()
    NULL = enum.auto()
    NOT_TRUE = FALSE | NULL
    NOT_FALSE = TRUE | NULL
    NOT_NULL = TRUE | FALSE
    ANY = TRUE | FALSE | NULL

    def negation(self) -> "Truths":
        """Return the truth values that NOT gives: TRUE and FALSE change places, NULL stays."""
        swapped = self & Truths.NULL
        if Truths.TRUE in self:
            swapped |= Truths.FALSE
        if Truths.FALSE in self:
            swapped |= Truths.TRUE
        return swapped

    def members(self) -> Iterator["Truths"]:
        """Return the single truth values in the set."""
        return (truth for truth in (Truths.TRUE, Truths.FALSE, Truths.NULL) if truth in self)
