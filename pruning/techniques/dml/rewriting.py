"""The fate of each block under DELETE, UPDATE and MERGE ([P] 7).

A block of which every row is deleted is dropped without being read. But a row that is not read raises no
error. So a condition that may raise proves only that blocks are untouched: a statement may then miss an
error, as a pruned query may, but it changes the same rows.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pruning.arguments import check_choice
from pruning.errors import InputError
from pruning.rules.sets.truths import Match


class Fate(enum.IntEnum):
    """The fate of one block under a statement."""

    UNTOUCHED = 0  # No row changes: the block stays as it is.
    DELETED = 1  # Each live row is deleted: the block is dropped, and no row of it is written.
    REWRITTEN = 2  # Some row may change: the rows that remain are written to a new block.


class When(enum.Enum):
    """The rows to which a clause of MERGE applies."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"  # These are rows of the source.
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


class Then(enum.Enum):
    """The action of a clause of MERGE."""

    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """The verdicts of a condition in each block.

    If the condition may raise, ALL becomes SOME.

    Attributes:
        verdicts: `Match`, int8 of shape (blocks,); ALL does not regard rows on which the condition raises.
        may_raise: True if evaluating it may fail the statement, also where the verdict is NONE.
    """

    verdicts: np.ndarray
    may_raise: bool = False

    def __post_init__(self) -> None:
        if self.may_raise:
            timid = np.where(self.verdicts == Match.ALL, np.int8(Match.SOME), self.verdicts)
            object.__setattr__(self, "verdicts", timid)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Clause:
    """A clause of MERGE; `condition` is the known part of what AND adds to `when`, None where nothing.

    Raises:
        InputError: `when` or `then` is no member of its enumeration.
    """

    when: When
    then: Then
    condition: Condition | None = None

    def __post_init__(self) -> None:
        # Clauses are selected by `when`, so that a value of another type would silently match no row.
        check_choice("when", self.when, When)
        check_choice("then", self.then, Then)


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Live rows and bytes of each block, int64 of shape (blocks,); -1 bytes are unknown."""

    rows: np.ndarray
    bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTotals:
    """The totals of some blocks; `bytes` is None where the bytes of one of them are unknown."""

    blocks: int
    rows: int
    bytes: int | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rewriting:
    """The fate of each block under a statement; every array has shape (blocks,).

    Attributes:
        fates: `Fate` as int8.
        joined: True if the block's rows must be joined with the source, to choose their clause or to find
            the source's rows without a partner. Blocks that are not read take no part in the join.
        whole: True if all rows of a rewritten block change, so that no row need be tested.
        sizes: The sizes of the blocks.
    """

    fates: np.ndarray
    joined: np.ndarray
    whole: np.ndarray
    sizes: Sizes

    @property
    def untouched_blocks(self) -> np.ndarray:
        """The ordinals of blocks that stay as they are: neither rewritten nor dropped whole."""
        return np.flatnonzero(self.fates == Fate.UNTOUCHED)

    @property
    def deleted_blocks(self) -> np.ndarray:
        """The ordinals of blocks that are dropped as a whole."""
        return np.flatnonzero(self.fates == Fate.DELETED)

    @property
    def rewritten_blocks(self) -> np.ndarray:
        """The ordinals of blocks whose rows are written again."""
        return np.flatnonzero(self.fates == Fate.REWRITTEN)

    @property
    def read_blocks(self) -> np.ndarray:
        """The ordinals of blocks that the statement reads: to rewrite them, or only for the join."""
        return np.flatnonzero(self._read_mask())

    @property
    def unread_totals(self) -> BlockTotals:
        """The totals of the blocks that are not read, which a statement without pruning would read."""
        return self._totals(~self._read_mask())

    def tally(self, fate: Fate) -> BlockTotals:
        """Return the totals of the blocks with one fate."""
        return self._totals(self.fates == fate)

    def _read_mask(self) -> np.ndarray:
        read: np.ndarray = (self.fates == Fate.REWRITTEN) | self.joined
        return read

    def _totals(self, chosen: np.ndarray) -> BlockTotals:
        sizes = self.sizes.bytes[chosen]
        byte_count = None if (sizes < 0).any() else int(sizes.sum())
        return BlockTotals(
            blocks=int(chosen.sum()), rows=int(self.sizes.rows[chosen].sum()), bytes=byte_count
        )


def deletion(sizes: Sizes, condition: Condition) -> Rewriting:
    """Return the fates of blocks under DELETE WHERE condition. Rows on which it is FALSE or NULL stay.

    Raises:
        InputError: there are not as many verdicts as blocks.
    """
    _check_lengths(sizes, condition)
    touched, kept = _walk_clauses(sizes, [(Then.DELETE, condition)])
    return _rewriting(sizes, touched, kept)


def update(sizes: Sizes, condition: Condition) -> Rewriting:
    """Return the fates of blocks under UPDATE SET ... WHERE condition.

    Raises:
        InputError: there are not as many verdicts as blocks.
    """
    _check_lengths(sizes, condition)
    touched, kept = _walk_clauses(sizes, [(Then.UPDATE, condition)])
    return _rewriting(sizes, touched, kept, whole=touched & (condition.verdicts == Match.ALL))


def merge(
    sizes: Sizes,
    clauses: Sequence[Clause],
    *,
    on: Condition | None = None,
    excluded: np.ndarray | None = None,
) -> Rewriting:
    """Return the fates of blocks under MERGE INTO target USING source ON ... with its clauses in order.

    Claim     The statement gives the same rows, and inserts the same, if untouched blocks are left as
              they are, deleted ones are dropped, and rows of blocks that are not joined have no partner.
    Premises  `on` NONE and `excluded` each imply that no row of the block has a partner.
    Proof     (1) A row has a partner only where both leave that open.
              (2) Each row of the target goes through the clauses of one of two kinds, and the first that
                  applies decides: `_walk_clauses`. Rows without a partner may be in any block with rows.
              (3) INSERT asks of each row of the source whether it has a partner anywhere. So do rows that
                  are rewritten, and so does the error that a row with several partners is.
              (4) Where ON may raise, rows that may change must meet it.

    Args:
        sizes: The sizes of the target's blocks.
        clauses: The clauses in the statement's order; at least one.
        on: The part of ON over the target alone, while `may_raise` regards all of ON. None is no condition.
        excluded: True if the source's keys exclude that a row of the block has a partner, bool of shape
            (blocks,); None excludes nothing.
    Raises:
        InputError: there is no clause, one does what its kind cannot, or a shape is wrong.
    """
    _check_clauses(clauses)
    _check_lengths(sizes, on, *(clause.condition for clause in clauses))
    may_match = _may_match(sizes, on, excluded)  # (1)
    raising = on is not None and on.may_raise
    matched, unmatched = (
        _walk_clauses(sizes, [(clause.then, clause.condition) for clause in clauses if clause.when is when])
        for when in (When.MATCHED, When.NOT_MATCHED_BY_SOURCE)
    )
    touched = (may_match & matched[0]) | unmatched[0]  # (2)
    kept = (may_match & matched[1]) | unmatched[1] | raising
    rewriting = _rewriting(sizes, touched, kept)
    inserts = any(clause.when is When.NOT_MATCHED for clause in clauses)
    rewritten = rewriting.fates == Fate.REWRITTEN
    joined = may_match & (rewritten | inserts | (touched & _refuses_several(clauses)))  # (3)
    joined |= rewritten & raising  # (4)
    return Rewriting(fates=rewriting.fates, joined=joined, whole=rewriting.whole, sizes=sizes)


def _may_match(sizes: Sizes, on: Condition | None, excluded: np.ndarray | None) -> np.ndarray:
    may_match: np.ndarray = sizes.rows > 0
    if on is not None:
        may_match &= on.verdicts != Match.NONE
    if excluded is None:
        return may_match
    if excluded.dtype != bool or len(excluded) != len(sizes):
        raise InputError(
            f"`excluded` has {len(excluded)} lanes; give a bool for each of {len(sizes)} blocks."
        )
    may_match &= ~excluded
    return may_match


def _walk_clauses(
    sizes: Sizes, clauses: Sequence[tuple[Then, Condition | None]]
) -> tuple[np.ndarray, np.ndarray]:
    """Apply clauses in order to the rows of each block; the first whose condition is TRUE decides a row.

    A block whose rows are all decided by earlier clauses is not affected by later ones.

    Returns:
        Two masks of shape (blocks,): True where a row may change; True where a row may remain, or raise.
    """
    pending = sizes.rows > 0
    touched, kept = np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
    for then, condition in clauses:
        applies = pending if condition is None else pending & (condition.verdicts != Match.NONE)
        touched |= applies
        if then is Then.UPDATE:
            kept |= applies
        if condition is None:
            pending = np.zeros(len(sizes), bool)
            continue
        if condition.may_raise:
            kept |= pending
        pending = pending & (condition.verdicts != Match.ALL)
    return touched, kept | pending


def _refuses_several(clauses: Sequence[Clause]) -> bool:
    """Tell whether a row with several partners fails the statement; it does not if it is only deleted."""
    matched = [clause for clause in clauses if clause.when is When.MATCHED]
    deletes = [clause.then is Then.DELETE and clause.condition is None for clause in matched]
    return bool(matched) and deletes != [True]


def _rewriting(
    sizes: Sizes, touched: np.ndarray, kept: np.ndarray, *, whole: np.ndarray | None = None
) -> Rewriting:
    fates = np.where(touched, np.where(kept, Fate.REWRITTEN, Fate.DELETED), Fate.UNTOUCHED).astype(np.int8)
    nothing = np.zeros(len(sizes), bool)
    return Rewriting(fates=fates, joined=nothing, whole=nothing if whole is None else whole, sizes=sizes)


def _check_lengths(sizes: Sizes, *conditions: Condition | None) -> None:
    for condition in conditions:
        if condition is not None and len(condition.verdicts) != len(sizes):
            raise InputError(
                f"There are {len(condition.verdicts)} verdicts for {len(sizes)} blocks; give one for each."
            )


def _check_clauses(clauses: Sequence[Clause]) -> None:
    if not clauses:
        raise InputError("MERGE has no clause; give at least one WHEN.")
    for clause in clauses:
        if (clause.when is When.NOT_MATCHED) is not (clause.then is Then.INSERT):
            raise InputError(
                f"{clause.when.value} cannot {clause.then.value}; INSERT goes with WHEN NOT MATCHED alone."
            )
