"""JOIN-9: ranges of a join's keys are disjoint, hold every row that matters, and are read as a whole."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from joining import bounds_of, metadata_of, unsatisfied
from searches import find

from mutants.joins.join_ranges import BLOCK_MUTANTS, CONDITION_MUTANTS
from mutants.joins.range_decisions import SIZE_MUTANT
from pruning.expressions.types import DATE, INTEGER, LONG, STRING, Type, decimal
from pruning.techniques.join.range_cuts import (
    RANGES_MAX,
    JoinRanges,
    NoRanges,
    RangePlan,
    SideBlocks,
    plan_ranges,
)
from pruning.techniques.plan.keys import KeyBounds
from strategies.base.layouts import tables
from strategies.base.metadata import exact_facts, to_metadata, true_facts
from strategies.base.tables import Table, arrow_array

TYPES = (INTEGER, STRING, DATE, decimal(9, 2))


@dataclass(frozen=True)
class RangedTable:
    """A table of one key, bounds that are true of its blocks, and ranges of keys."""

    table: Table
    side: SideBlocks
    ranges: JoinRanges

    @property
    def keeps_null(self) -> bool:
        """True if rows with NULL matter."""
        return self.side.keeps_null

    def places(self) -> list[list[int]]:
        """The ranges that each row is in."""
        (key,) = self.table.columns
        singled = metadata_of(Table((key,), tuple((row,) for row in self.table.rows)))
        absent = [
            unsatisfied(self.ranges.condition(place, key, keeps_null=self.keeps_null), singled)
            for place in range(len(self.ranges))
        ]
        return [
            [place for place, rows in enumerate(absent) if not rows[number]]
            for number in range(len(self.table.rows))
        ]

    def is_partition(self) -> bool:
        """Tell whether each row that matters is in one range, and each other row in none."""
        return all(
            len(places) == (1 if row[0] is not None or self.keeps_null else 0)
            for row, places in zip(self.table.rows, self.places(), strict=True)
        )

    def reads_all_rows(self) -> bool:
        """Tell whether each row's block is read for its range."""
        masks = list(self.ranges.blocks(self.side))
        of_row = [number for number, block in enumerate(self.table.blocks) for _ in block]
        return all(
            masks[place][number]
            for number, places in zip(of_row, self.places(), strict=True)
            for place in places
        )


@st.composite
def ranged_tables(draw: st.DrawFn, types: tuple[Type, ...] = TYPES) -> RangedTable:
    """Tables with ranges cut at some of their values.

    Shrinks to: no row, then one cut.
    """
    type_ = draw(st.sampled_from(types))
    table = draw(tables([type_]))
    metadata = to_metadata(table, draw(st.just(exact_facts(table)) | true_facts(table)))
    held = sorted({row[0] for row in table.rows if row[0] is not None})
    cuts = draw(st.lists(st.sampled_from(held), min_size=1, max_size=4, unique=True)) if held else []
    count = len(table.blocks)
    side = SideBlocks(
        keys=bounds_of(metadata, table.columns[0]),
        keep=np.ones(count, bool),
        row_counts=np.array([len(block) for block in table.blocks], np.int64),
        byte_counts=np.ones(count, np.int64),
        row_bytes=1,
        file_of_block=np.arange(count),
        keeps_null=draw(st.booleans()),
    )
    lanes = arrow_array(type_, sorted(cuts))
    return RangedTable(table, side, JoinRanges(type_, lanes.cast(side.keys.lower.type)))


@given(ranged_tables())
@examples(2)
def test_ranges_are_a_partition_of_the_rows(case):
    """JOIN-9. So rows with equal keys are in the same range, and each pair of them in exactly one."""
    if len(case.ranges) > 1:
        assert case.is_partition()


@given(ranged_tables())
@examples(2)
def test_the_blocks_of_a_range_hold_all_its_rows(case):
    if len(case.ranges) > 1:
        assert case.reads_all_rows()


@pytest.mark.parametrize("mutant", CONDITION_MUTANTS)
def test_a_mutant_of_conditions_is_no_partition(mutant, monkeypatch):
    monkeypatch.setattr(*CONDITION_MUTANTS[mutant])
    find(
        ranged_tables((INTEGER,)),
        lambda case: len(case.ranges) > 1 and not case.is_partition(),
        settings=unshrunk(2_000),
    )


@pytest.mark.parametrize("mutant", BLOCK_MUTANTS)
def test_a_mutant_of_blocks_leaves_rows_unread(mutant, monkeypatch):
    monkeypatch.setattr(*BLOCK_MUTANTS[mutant])
    find(
        ranged_tables((INTEGER,)),
        lambda case: len(case.ranges) > 1 and not case.reads_all_rows(),
        settings=unshrunk(2_000),
    )


ROWS, ROW_BYTES = 100, 100


def side(ends, *, rows: int = ROWS, bytes_each: int = 10_000) -> SideBlocks:
    """A side whose blocks have these least and greatest keys; None is unknown."""
    count = len(ends)
    yes, no = np.ones(count, bool), np.zeros(count, bool)
    keys = KeyBounds(
        type=LONG,
        lower=pa.array([low for low, _ in ends], pa.int64()),
        upper=pa.array([up for _, up in ends], pa.int64()),
        may_null=no,
        may_nan=no,
        may_value=yes,
        lower_exact=yes,
        upper_exact=yes,
        null_counts=np.zeros(count, np.int64),
        nan_counts=np.zeros(count, np.int64),
    )
    return SideBlocks(
        keys=keys,
        keep=yes,
        row_counts=np.full(count, rows),
        byte_counts=np.full(count, bytes_each),
        row_bytes=ROW_BYTES,
        file_of_block=np.arange(count),
    )


def clusters(count: int, width: int, *, overlap: int = 0, **options) -> SideBlocks:
    ends = [(place * width, (place + 1) * width - 1 + overlap) for place in range(count)]
    return side(ends, **options)


def plan(probe: SideBlocks, build: SideBlocks, blocks_each: int = 4) -> RangePlan | NoRanges:
    """Ranges whose slices may have the rows of some build blocks."""
    return plan_ranges(probe, build, broadcast_max=2 * ROW_BYTES * ROWS * blocks_each, open_bytes=100)


def test_clustered_tables_are_cut_where_their_blocks_meet():
    ranges = plan(clusters(48, 10), clusters(24, 20))
    assert ranges.ranges.cuts.to_pylist() == [80, 160, 240, 320, 400]
    assert ranges.again.byte_count == ranges.again.files == 0
    assert ranges.pays(100)


def test_cuts_are_made_where_few_blocks_lie_on_both_sides():
    """Blocks of the build side end everywhere; at 60, and at 120, none of the other side goes on."""
    ranges = plan(clusters(4, 60, bytes_each=100_000), clusters(12, 20, bytes_each=100))
    assert ranges.ranges.cuts.to_pylist() == [60, 120, 180]


@pytest.mark.parametrize(
    ("probe", "build", "reason"),
    [
        (clusters(48, 10), side([(0, 480)] * 24), "overlap"),
        (clusters(48, 10), side([(None, None)] * 24), "no bounds"),
        (clusters(48, 10), clusters(4 * RANGES_MAX + 5, 2), "ranges of keys would be needed"),
        (clusters(48, 10), clusters(4, 20), "as a whole"),
        (clusters(48, 10), side([(0, 480)], rows=100 * ROWS), "are large"),
    ],
    ids=["overlap", "unknown bounds", "many ranges", "small side", "one large block"],
)
def test_tables_that_cannot_be_cut_say_why(probe, build, reason):
    assert reason in plan(probe, build).reason


def test_slices_of_long_texts_are_as_large_as_in_their_files(monkeypatch):
    """Spark takes a text for 20 bytes; a mutant does so, too."""
    probe, build = clusters(48, 10), clusters(24, 20, bytes_each=4 * ROW_BYTES * ROWS)
    ranges = plan(probe, build)
    assert len(ranges.ranges) == len(build.keep)
    assert ranges.broadcast_bytes == int(build.byte_counts.sum())
    monkeypatch.setattr(*SIZE_MUTANT)
    assert len(plan(probe, build).ranges) < len(build.keep)


def test_ranges_that_read_nearly_everything_do_not_pay():
    assert not plan(side([(0, 480)] * 48), clusters(24, 20)).pays(100)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), min_size=1, max_size=30),
    st.integers(1, 6),
)
def test_no_slice_is_larger_than_half_of_what_may_be_broadcast(probe, build, blocks_each):
    sides = [side([(low, low + width) for low, width in ends]) for ends in (probe, build)]
    ranges = plan(*sides, blocks_each=blocks_each)
    if isinstance(ranges, RangePlan):
        assert len(ranges.ranges) <= RANGES_MAX
        sizes = [int(sides[1].row_counts[mask].sum()) for mask in ranges.ranges.blocks(sides[1])]
        assert max(sizes) <= ROWS * blocks_each
        assert ranges.broadcast_bytes == ROW_BYTES * sum(sizes)
