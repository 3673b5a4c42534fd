"""JOIN-8: no probe row that meets a join's inequalities with a build row is lost by their summary."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from joining import metadata_of, unsatisfied
from searches import find

from mutants.joins.join_summaries import RANGE_MUTANTS
from pruning.expressions.trees import Column
from pruning.expressions.types import DOUBLE, INTEGER, Type, Value
from pruning.techniques.join.key_ranges import RangeSummary, summarise_ranges
from pruning.techniques.join.summary_ranges import to_lanes
from strategies.base.tables import Table, arrow_array, sort_key
from strategies.base.values import TYPES, values

BUDGETS = (10_000, 10_000, 64, 16, 0)
TERMS = (256, 256, 2, 1)
End = Value | None


@dataclass(frozen=True)
class RangeJoin:
    """The values of a probe side, and the ends that build rows give; no lower or no upper ends are None."""

    type: Type
    probe: list[End]
    lowers: list[End] | None
    uppers: list[End] | None
    bytes_max: int
    terms_max: int

    @property
    def table(self) -> Table:
        """The probe side with a block for each row."""
        return Table((Column("k", self.type),), tuple(((value,),) for value in self.probe))

    def summary(self) -> RangeSummary | None:
        """The summary of the build side."""
        lanes = [
            None if ends is None else to_lanes(arrow_array(self.type, ends), self.type)
            for ends in (self.lowers, self.uppers)
        ]
        return summarise_ranges(self.type, *lanes, bytes_max=self.bytes_max)

    def has_partner(self, value: End) -> bool:
        """Tell whether a value is in the range of a build row; NaN is above every number."""
        if value is None:
            return False
        count = len(self.lowers if self.lowers is not None else self.uppers or [])
        return any(
            _is_between(
                value, *(None if ends is None else (ends[row],) for ends in (self.lowers, self.uppers))
            )
            for row in range(count)
        )

    def skip_mask(self) -> list[bool]:
        """Mark the probe rows that the summary skips."""
        summary, table = self.summary(), self.table
        if summary is None:
            return [False] * len(self.probe)
        return unsatisfied(summary.condition(table.columns[0], self.terms_max), metadata_of(table))

    def missing_rows(self) -> list[End]:
        """The probe rows with a partner that the summary skips."""
        return [
            value
            for value, skips in zip(self.probe, self.skip_mask(), strict=True)
            if skips and self.has_partner(value)
        ]


def _is_between(value: Value, lower: tuple[End] | None, upper: tuple[End] | None) -> bool:
    """Tell whether a value lies between two ends, of which NULL encloses nothing."""
    if (lower is not None and lower[0] is None) or (upper is not None and upper[0] is None):
        return False
    return (lower is None or sort_key(lower[0]) <= sort_key(value)) and (
        upper is None or sort_key(value) <= sort_key(upper[0])
    )


@st.composite
def range_joins(draw: st.DrawFn, types: tuple[Type, ...] = tuple(TYPES)) -> RangeJoin:
    """Joins by inequalities.

    Shrinks to: no probe row, a lower end alone.
    """
    type_ = draw(st.sampled_from(types))
    odd: list[End] = [None, math.nan] if type_.floating else [None]
    pool = draw(st.lists(st.sampled_from(odd) | values(type_), min_size=1, max_size=6))
    some = st.sampled_from(pool)
    count = draw(st.integers(0, 4))
    has_lower, has_upper = draw(st.sampled_from(((True, False), (False, True), (True, True))))
    pairs = draw(st.lists(st.tuples(some, some), min_size=count, max_size=count))
    shape = draw(st.sampled_from(("any", "not empty", "one value")))
    if shape == "not empty":
        pairs = [pair if None in pair else tuple(sorted(pair, key=sort_key)) for pair in pairs]
    elif shape == "one value":
        # Between such ranges there are gaps.
        pairs = [(lower, lower) for lower, _ in pairs]
    ends: list[Any] = [
        [pair[place] for pair in pairs] if has else None for place, has in enumerate((has_lower, has_upper))
    ]
    return RangeJoin(
        type=type_,
        probe=draw(st.lists(some, max_size=6)),
        lowers=ends[0],
        uppers=ends[1],
        bytes_max=draw(st.sampled_from(BUDGETS)),
        terms_max=draw(st.sampled_from(TERMS)),
    )


@examples(4)
@given(range_joins())
def test_no_row_within_the_range_of_a_build_row_is_lost(join: RangeJoin) -> None:
    """JOIN-8. Whatever fits into the budget, and where NULL and NaN are among the ends."""
    assert join.missing_rows() == []


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_range_joins_reach_rows_that_each_type_skips(type_: Type) -> None:
    """Without this, JOIN-8 could hold because nothing is ever skipped."""
    find(range_joins((type_,)), lambda join: any(join.skip_mask()), settings=unshrunk(2_000))


def test_range_joins_reach_a_row_between_two_ranges() -> None:
    def has_gap(join: RangeJoin) -> bool:
        summary = join.summary()
        if summary is None or summary.lower is None or summary.upper is None:
            return False
        low, up = sort_key(summary.lower.value), sort_key(summary.upper.value)
        return any(
            skips and value is not None and low <= sort_key(value) <= up
            for value, skips in zip(join.probe, join.skip_mask(), strict=True)
        )

    find(range_joins((INTEGER,)), has_gap, settings=unshrunk(4_000))


@pytest.mark.parametrize("mutant", RANGE_MUTANTS)
def test_a_mutant_of_ranges_loses_rows(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*RANGE_MUTANTS[mutant])
    type_ = DOUBLE if "NaN" in mutant else INTEGER
    find(range_joins((type_,)), lambda join: bool(join.missing_rows()), settings=unshrunk(4_000))
