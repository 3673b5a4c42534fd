"""PUSHED-2: every row that a predicate keeps passes the range filters that are made of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from mutants.pushed_ranges import MUTANTS
from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions import types
from pruning.expressions.trees import Column, Compare, Comparison, Expression, In, Literal, Mode
from pruning.expressions.types import Type, Value
from pruning.pushed.value_ranges import closed_ranges, value_ranges, width, with_fewer_ranges
from pruning.rules.sets import cuts
from pruning.rules.sets.truths import Match
from pruning.spark.drive import paging, range_filters
from pruning.spark.drive.range_filters import RangeFilter
from pruning.verdicts.classification import classify_blocks
from strategies.base.layouts import tables
from strategies.base.metadata import metadata
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

GREGORIAN = date(1582, 10, 15)
DAY_US = 86_400_000_000
YEAR_1900_US = (date(1900, 1, 1) - date(1970, 1, 1)).days * DAY_US

TYPES = (
    types.BYTE,
    types.INTEGER,
    types.LONG,
    types.decimal(12, 2),
    types.STRING,
    types.DATE,
    types.TIMESTAMP,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A table, a predicate over it, and its block metadata.

    `is_own` tells whether the plan has the predicate, and `is_deferred` whether it was asked of no block.
    """

    table: Table
    predicate: Expression
    is_own: bool
    is_deferred: bool
    metadata: pa.Table


@st.composite
def cases(draw: st.DrawFn, of: Sequence[Type] = TYPES) -> Case:
    """Tables of types that are ranged; shrink to one column and one comparison."""
    kinds = draw(st.lists(st.sampled_from(of), min_size=1, max_size=2))
    table = draw(tables(kinds))
    predicate = draw(predicates(table, max_leaves=8, modes=tuple(Mode)))
    return Case(table, predicate, draw(st.booleans()), draw(st.booleans()), draw(metadata(table)))


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every block have pages, and a filter have few ranges."""
    monkeypatch.setattr(paging, "PAGE_ROWS", 0)
    monkeypatch.setattr(range_filters, "RANGES_MAX", 2)
    monkeypatch.setattr(range_filters, "_SHARE_MAX", 1)


def filters_of(case: Case) -> list[RangeFilter]:
    keep = pc.not_equal(classify_blocks(case.predicate, case.metadata), int(Match.NONE))
    if case.is_deferred:
        keep = pc.greater(case.metadata["row_count"].combine_chunks(), 0)
    own = case.predicate if case.is_own else Literal(True, types.BOOLEAN)
    return range_filters.range_filters(
        own,
        case.metadata,
        keep,
        {column.name: column.type for column in case.table.columns},
        needed=() if case.is_own else (case.predicate,),
        deferred=(case.predicate,) if case.is_own and case.is_deferred else (),
    )


def passes(filter_: RangeFilter, value: Value | None) -> bool:
    """Evaluate a filter on a value by the ends of its ranges, as Spark asks Parquet's reader for them."""
    if value is None:
        return not filter_.rejects_null
    for lower, upper, is_excluded in range_filters.closed_ranges(filter_.values, filter_.type):
        least = None if lower is None else max(ends_at_reader(lower, filter_.type))
        greatest = None if upper is None else min(ends_at_reader(upper, filter_.type))
        if (least is None or least <= value) and (
            greatest is None or value < greatest or (value == greatest and not is_excluded)
        ):
            return True
    return False


def ends_at_reader(end: Value, type_: Type) -> list[Value]:
    """Return what Spark may ask for: the last of ten lacking days, or an instant of old clocks."""
    if type_ == types.DATE and date(1582, 10, 5) <= date(1970, 1, 1) + timedelta(int(end)) < GREGORIAN:
        return [(GREGORIAN - date(1970, 1, 1)).days]
    if type_ == types.TIMESTAMP and int(end) < YEAR_1900_US:
        return [int(end) - DAY_US, int(end) + DAY_US]
    return [end]


def loses_rows(case: Case) -> bool:
    """Tell whether a row on which the predicate is TRUE passes one of the filters not."""
    filters = filters_of(case)
    for row in (row for block in case.table.blocks for row in block):
        values = case.table.as_mapping(row)
        try:
            is_needed = evaluate(case.predicate, values) is True
        except (Overflow, NoSecondOpinion):  # releases of Spark or Java differ on a few values
            continue
        if is_needed and not all(passes(filter_, values[filter_.column]) for filter_ in filters):
            return True
    return False


@examples(2)
@given(cases())
def test_no_needed_row_fails_a_range_filter(case: Case) -> None:
    """PUSHED-2. By the second opinion on predicates."""
    filters = filters_of(case)
    event(f"filters {len(filters)}, NULL passes {any(not filter_.rejects_null for filter_ in filters)}")
    assert not loses_rows(case)


REACHED: dict[str, Callable[[Case], bool]] = {
    "several ranges": lambda case: any(len(ends(filter_)) > 1 for filter_ in filters_of(case)),
    "NULL that passes": lambda case: any(not filter_.rejects_null for filter_ in filters_of(case)),
    "a deferred predicate": lambda case: case.is_own and case.is_deferred and bool(filters_of(case)),
    "two columns": lambda case: len(filters_of(case)) > 1,
    "strings": lambda case: any(filter_.type == types.STRING for filter_ in filters_of(case)),
    "an end that is excluded": lambda case: any(
        is_excluded for filter_ in filters_of(case) for _, _, is_excluded in ends(filter_)
    ),
}


def ends(filter_: RangeFilter) -> list[tuple[Value | None, Value | None, bool]]:
    return closed_ranges(filter_.values, filter_.type)


@pytest.mark.parametrize("name", REACHED)
def test_the_cases_reach(name: str) -> None:
    """Without this, PUSHED-2 could hold because no filter is ever made."""
    # Only strings have ends that are excluded.
    find(cases([types.STRING]) if "excluded" in name else cases(), REACHED[name])


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_range_filters_loses_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PUSHED-2 kills each."""
    monkeypatch.setattr(*MUTANTS[name])
    find(cases(), loses_rows, settings=unshrunk(5_000))


A = Column("a", types.LONG)
WITHIN = cuts.between(0, 2**40, types.LONG)


def test_the_ranges_of_a_list_are_its_members() -> None:
    condition = In(A, tuple(Literal(10**6 * at, types.LONG) for at in range(30)))
    values = value_ranges([condition], A, WITHIN)
    assert [lower for lower, _, _ in closed_ranges(values, types.LONG)] == [10**6 * at for at in range(30)]
    assert width(values, types.LONG) == 30
    fewer = with_fewer_ranges(values, types.LONG, 3)
    assert len(closed_ranges(fewer, types.LONG)) == 3
    assert all(fewer.holds(10**6 * at) for at in range(30))


def test_nothing_is_left_of_a_range_beside_the_values() -> None:
    assert value_ranges([Compare(Comparison.LESS, A, Literal(0, types.LONG))], A, WITHIN).empty
