"""Summaries of all keys of a join's build side together, which the probe side gets ([P] 6, [M] 5.5).

A build row with NULL in a key that is not NULL-safe has no partner, so that it is not summarised. A key that
the probe scan does not see adds no condition, and changes none of the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.trees import And, Expression, Literal, Or
from pruning.expressions.types import BOOLEAN, Type
from pruning.techniques.join import summary_ranges as ranged
from pruning.techniques.join.summary_keys import KeySummary, SummaryForm, check_values, summarise
from pruning.techniques.plan.keys import KeyBounds

__all__ = ["JoinSummary", "KeySummary", "SummaryForm", "SummaryParts", "summarise", "summarise_keys"]

# A build side with more different tuples keeps only the summaries of single keys.
TUPLES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSummary:
    """A summary of the keys of a build side: it holds every row that may have a partner, and maybe others.

    Attributes:
        keys: A summary of each key; None for one whose type has no known order.
        tuples: The different tuples of the keys that have a summary, a column each as lanes, named by
            the key's ordinal; None where they are too many, or only one key has a summary.
        null_safe: Per key, True if NULL equals NULL.
        row_count: The build rows that may have a partner.
        bytes_max: The most bytes that all parts may take together.
    """

    keys: tuple[KeySummary | None, ...]
    tuples: pa.Table | None
    null_safe: tuple[bool, ...]
    row_count: int
    bytes_max: int

    @property
    def byte_count(self) -> int:
        """The bytes of the keys' summaries and of the tuples."""
        tuples = 0 if self.tuples is None else _tuple_bytes(self.tuples)
        return tuples + sum(key.byte_count for key in self.keys if key is not None)

    def merge(self, other: "JoinSummary") -> "JoinSummary":
        """Return the summary of two parts of a build side; `SummaryParts` tells when all are merged.

        Raises:
            InputError: the parts are of other keys, or other comparisons of them.
        """
        if self.null_safe != other.null_safe:
            raise InputError("Parts of a build side have the same keys: merge summaries of one join.")
        tuples = None
        if self.tuples is not None and other.tuples is not None:
            tuples = _few_tuples(pa.concat_tables([self.tuples, other.tuples]), self.bytes_max)
        pairs = list(zip(self.keys, other.keys, strict=True))
        share = _bytes_per_key(self.bytes_max, tuples, sum(None not in pair for pair in pairs))
        return replace(
            self,
            keys=tuple(
                None
                if left is None or two is None
                else _with_bytes_max(left, share).merge(_with_bytes_max(two, share))
                for left, two in pairs
            ),
            tuples=tuples,
            row_count=self.row_count + other.row_count,
        )

    def condition(
        self,
        keys: Sequence[Expression | None],
        null_safe: Sequence[bool] | None = None,
        *,
        terms_max: int | None = None,
    ) -> Expression:
        """Return a condition that is TRUE on each probe row that may have a partner.

        Args:
            keys: The probe side's keys; None for one that the scan cannot see.
            null_safe: The summary's `null_safe`, to be checked; None checks nothing.
            terms_max: The limit of `KeySummary.condition`, for each key.
        Raises:
            InputError: `null_safe` is not what the summary was made for.
        """
        self._check(keys, null_safe)
        if not self.row_count:
            return Literal(False, BOOLEAN)
        visible = self._visible_summaries(keys)
        if self.tuples is not None and len(visible) > 1:
            return _disjunction(
                [self._conjunction(row, keys, None) for row in self._tuple_summaries(visible)]
            )
        return self._conjunction(visible, keys, terms_max)

    def excludes(
        self, bounds: Sequence[KeyBounds | None], null_safe: Sequence[bool] | None = None
    ) -> np.ndarray:
        """Mark the blocks that hold no partner; shape (blocks,).

        Claim     A block called True has no row that equals a build row in every key.
        Premises  The bounds enclose the rows' keys; None is a key of which nothing is known.
        Proof     (1) No row of the block equals a build row in one of the keys;
                  (2) or, of each tuple, in one of its keys.

        Raises:
            InputError: nothing is known of any key, or `null_safe` is not what the summary was made for.
        """
        self._check(bounds, null_safe)
        blocks = next((len(key_bounds) for key_bounds in bounds if key_bounds is not None), None)
        if blocks is None:
            raise InputError("No key has bounds: ask `condition` where the scan sees none of them.")
        if not self.row_count:
            return np.ones(blocks, bool)
        visible = self._visible_summaries(bounds)
        excluded = self._excluded_blocks(visible, bounds, blocks)  # (1)
        if self.tuples is None or len(visible) < 2:
            return excluded
        by_each = np.ones(blocks, bool)
        for row in self._tuple_summaries(visible):
            by_each &= self._excluded_blocks(row, bounds, blocks)  # (2)
        return excluded | by_each

    def describe(self) -> str:
        """Describe the summary in one line, for reports."""
        if not self.row_count:
            return "no row"
        texts = ["no summary" if key is None else key.describe() for key in self.keys]
        keys = (
            texts[0]
            if len(texts) == 1
            else "; ".join(f"key {at}: {text}" for at, text in enumerate(texts, 1))
        )
        if self.tuples is None:
            return keys
        return f"exact set of {self.tuples.num_rows:,} tuples, {_tuple_bytes(self.tuples):,} bytes; {keys}"

    def _check(self, keys: Sequence[object], null_safe: Sequence[bool] | None) -> None:
        if len(keys) != len(self.keys):
            raise InputError(f"There are {len(self.keys)} keys, not {len(keys)}: give None for hidden ones.")
        if null_safe is not None and tuple(null_safe) != self.null_safe:
            raise InputError(f"The summary is for null_safe={self.null_safe}, not {tuple(null_safe)}.")

    def _visible_summaries(self, keys: Sequence[object]) -> dict[int, KeySummary]:
        """Return the summaries of the keys that the probe scan sees, by the keys' ordinals."""
        return {
            at: summary
            for at, (summary, key) in enumerate(zip(self.keys, keys, strict=True))
            if summary is not None and key is not None
        }

    def _tuple_summaries(self, visible: Mapping[int, KeySummary]) -> Iterator[dict[int, KeySummary]]:
        """Yield each different tuple of the visible keys, as summaries of one value each."""
        assert self.tuples is not None
        tuples = _distinct_rows(self.tuples.select([str(at) for at in visible]))
        for row in range(tuples.num_rows):
            yield {
                at: _single_value_summary(summary, tuples.column(str(at)), row)
                for at, summary in visible.items()
            }

    def _conjunction(
        self, summaries: Mapping[int, KeySummary], keys: Sequence[Expression | None], terms_max: int | None
    ) -> Expression:
        parts = []
        for at, summary in summaries.items():
            key = keys[at]
            assert key is not None
            parts.append(summary.condition(key, null_safe=self.null_safe[at], terms_max=terms_max))
        if not parts:
            return Literal(True, BOOLEAN)
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _excluded_blocks(
        self, summaries: Mapping[int, KeySummary], bounds: Sequence[KeyBounds | None], blocks: int
    ) -> np.ndarray:
        excluded = np.zeros(blocks, bool)
        for at, summary in summaries.items():
            key_bounds = bounds[at]
            assert key_bounds is not None
            excluded |= summary.excludes(key_bounds, null_safe=self.null_safe[at])
        return excluded


def summarise_keys(
    types: Sequence[Type],
    columns: Sequence[pa.Array | pa.ChunkedArray],
    *,
    bytes_max: int,
    null_safe: Sequence[bool] | None = None,
) -> JoinSummary:
    """Summarise the keys of a build side.

    Args:
        types: The keys' types; one that is not known has no summary.
        columns: Per key, its value in each build row, in the Arrow type of block metadata.
        bytes_max: The most bytes that all parts may take together.
        null_safe: Per key, True if NULL equals NULL; None is False for all of them.
    Raises:
        InputError: a column is not of its key's type.
    """
    safe = (False,) * len(types) if null_safe is None else tuple(null_safe)
    rows = pa.table(dict(zip(_column_names(types), columns, strict=True)))
    for name, may_be_null in zip(_column_names(types), safe, strict=True):
        if not may_be_null:
            rows = rows.filter(pc.is_valid(rows.column(name)))
    ordinals = [at for at, type_ in enumerate(types) if type_.has_bounds]
    for at in ordinals:
        check_values(types[at], columns[at])
    tuples = None
    if len(ordinals) > 1:
        lanes = {str(at): ranged.to_lanes(rows.column(str(at)), types[at]) for at in ordinals}
        tuples = _few_tuples(pa.table(lanes), bytes_max)
    share = _bytes_per_key(bytes_max, tuples, len(ordinals))
    keys = (
        summarise(type_, rows.column(name), bytes_max=share) if type_.has_bounds else None
        for name, type_ in zip(_column_names(types), types, strict=True)
    )
    return JoinSummary(
        keys=tuple(keys), tuples=tuples, null_safe=safe, row_count=rows.num_rows, bytes_max=bytes_max
    )


@dataclass(frozen=True, slots=True)
class SummaryParts:
    """The summaries of parts of a build side, which arrive in any order and are merged once all are there.

    Attributes:
        expected: The number of parts, > 0.
        reported: The summaries that have arrived, by the ordinals of the parts.
    """

    expected: int
    reported: Mapping[int, JoinSummary] = field(default_factory=dict)

    def observe(self, part: int, summary: JoinSummary) -> "SummaryParts":
        """Return the parts with one more summary, which replaces an earlier one of the same part.

        Raises:
            InputError: there is no such part.
        """
        if not 0 <= part < self.expected:
            raise InputError(f"There are {self.expected} parts from 0 on, and none is number {part}.")
        return replace(self, reported={**self.reported, part: summary})

    def merge(self) -> JoinSummary | None:
        """Return the summary of the whole build side; None while a part is missing."""
        if len(self.reported) < self.expected:
            return None
        first, *others = (self.reported[part] for part in range(self.expected))
        for other in others:
            first = first.merge(other)
        return first


def _column_names(types: Sequence[Type]) -> list[str]:
    return [str(at) for at in range(len(types))]


def _few_tuples(tuples: pa.Table, bytes_max: int) -> pa.Table | None:
    """Return the different tuples if they are few and take at most half of the bytes; else None."""
    distinct = _distinct_rows(tuples)
    return distinct if distinct.num_rows <= TUPLES_MAX and _tuple_bytes(distinct) <= bytes_max // 2 else None


def _distinct_rows(tuples: pa.Table) -> pa.Table:
    return tuples.group_by(tuples.column_names, use_threads=False).aggregate([])


def _tuple_bytes(tuples: pa.Table) -> int:
    return int(sum(ranged.byte_sizes(column.combine_chunks()).sum() for column in tuples.columns))


def _bytes_per_key(bytes_max: int, tuples: pa.Table | None, keys: int) -> int:
    """Return the bytes that each key's summary may take beside the tuples."""
    return (bytes_max - (0 if tuples is None else _tuple_bytes(tuples))) // max(keys, 1)


def _with_bytes_max(key: KeySummary, bytes_max: int) -> KeySummary:
    return replace(key, bytes_max=bytes_max)


def _single_value_summary(key: KeySummary, column: pa.ChunkedArray, row: int) -> KeySummary:
    """Return the summary of a key's single value in one row, which may be NULL or NaN."""
    value = column.slice(row, 1)
    points = ranged.points(value, key.type)
    is_null = value.null_count == 1
    return replace(
        key,
        ranges=points,
        exact=True,
        filter=None,
        has_null=is_null,
        has_nan=not is_null and not len(points),
        value_count=len(points),
    )


def _disjunction(conditions: list[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else Or(tuple(conditions))
