"""Metadata is always true of its rows, weakening never adds to it, and every weakness is drawn."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from budget import unshrunk
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from pruning.expressions.trees import Column
from pruning.expressions.types import DOUBLE, INTEGER, STRING, Value
from pruning.metadata.table.schema import block_schema, column_types
from strategies.base.layouts import tables
from strategies.base.metadata import (
    NOTHING,
    ColumnFacts,
    Facts,
    exact_facts,
    fact_pairs,
    metadata,
    metadata_pairs,
    to_metadata,
    true_facts,
)
from strategies.base.tables import Table, is_nan, sort_key

# Reaching is the claim; shrinking what was reached would take most of the time.
REACH = unshrunk(5_000)
NUMBERS = Table((Column("x", DOUBLE),), (((1.0,), (2.0,), (None,), (float("nan"),)), ((3.0,),)))


def _cells_and_facts(table: Table, facts: Facts) -> Iterator[tuple[list[Value | None], ColumnFacts]]:
    for block, known in zip(table.blocks, facts, strict=True):
        assert known.row_count == len(block)
        for position, fact in enumerate(known.columns):
            yield [row[position] for row in block], fact


def _is_true(cells: list[Value | None], fact: ColumnFacts) -> bool:
    """Tell whether every statement of a fact is true of the cells."""
    keys = [sort_key(cell) for cell in cells if cell is not None and not is_nan(cell)]
    claims = [
        fact.null_count in (None, sum(cell is None for cell in cells)),
        fact.nan_count in (None, sum(is_nan(cell) for cell in cells)),
        fact.lower is None or all(sort_key(fact.lower) <= key for key in keys),
        fact.upper is None or all(sort_key(fact.upper) >= key for key in keys),
        not fact.lower_exact or sort_key(fact.lower) in keys,
        not fact.upper_exact or sort_key(fact.upper) in keys,
        not is_nan(fact.lower),
        not is_nan(fact.upper),
    ]
    return all(claims)


def _says_no_more(weak: ColumnFacts, strong: ColumnFacts) -> bool:
    """Tell whether the weak fact follows from the strong one."""
    below = weak.lower is None or (
        strong.lower is not None and sort_key(weak.lower) <= sort_key(strong.lower)
    )
    above = weak.upper is None or (
        strong.upper is not None and sort_key(weak.upper) >= sort_key(strong.upper)
    )
    counts = all(
        getattr(weak, name) in (None, getattr(strong, name))
        for name in ("null_count", "nan_count", "byte_count")
    )
    exactness = [
        not weak.lower_exact or (strong.lower_exact and weak.lower == strong.lower),
        not weak.upper_exact or (strong.upper_exact and weak.upper == strong.upper),
    ]
    return below and above and counts and all(exactness)


@given(tables().flatmap(lambda table: st.tuples(st.just(table), true_facts(table))))
def test_facts_are_always_true_of_their_rows(drawn: tuple[Table, Facts]) -> None:
    assert all(_is_true(cells, fact) for cells, fact in _cells_and_facts(*drawn))


@given(tables().flatmap(lambda table: st.tuples(st.just(table), fact_pairs(table))))
def test_weakened_facts_never_say_more(drawn: tuple[Table, tuple[Facts, Facts]]) -> None:
    table, (strong, weak) = drawn
    pairs = zip(_cells_and_facts(table, strong), _cells_and_facts(table, weak), strict=True)
    assert all(_says_no_more(weaker, stronger) for (_, stronger), (_, weaker) in pairs)


@given(tables().flatmap(lambda table: st.tuples(st.just(table), metadata(table), metadata_pairs(table))))
def test_metadata_always_has_the_schema_of_block_metadata(
    drawn: tuple[Table, pa.Table, tuple[pa.Table, pa.Table]],
) -> None:
    table, one, (strong, weak) = drawn
    types = {column.name: column.type for column in table.columns}
    assert strong.schema == block_schema(types)
    for block_metadata in (one, weak):
        block_metadata.validate(full=True)
        assert column_types(block_metadata).items() <= types.items()
        assert block_metadata["row_count"].to_pylist() == [len(block) for block in table.blocks]


def test_exact_facts_leave_null_and_nan_out_of_the_bounds() -> None:
    first, second = (block.columns[0] for block in exact_facts(NUMBERS))
    assert (first.lower, first.upper, first.null_count, first.nan_count) == (1.0, 2.0, 1, 1)
    assert (second.lower, second.upper, second.null_count, second.nan_count) == (3.0, 3.0, 0, 0)
    assert first.lower_exact
    assert first.upper_exact


def test_metadata_locates_each_block_in_its_file() -> None:
    located = to_metadata(NUMBERS, exact_facts(NUMBERS), blocks_per_file=2)
    assert located["file"].to_pylist() == ["part-00000.parquet"] * 2
    assert located["row_group"].to_pylist() == [0, 1]
    assert located["row_offset"].to_pylist() == [0, 4]


def _is_one_sided(fact: ColumnFacts) -> bool:
    return (fact.lower is None) != (fact.upper is None)


def _is_a_null_count_alone(fact: ColumnFacts) -> bool:
    return fact.lower is None and fact.upper is None and fact.null_count is not None


WEAKNESSES: list[tuple[str, Callable[[ColumnFacts], bool]]] = [
    ("exact bounds", lambda fact: bool(fact.lower_exact and fact.upper_exact)),
    ("a minimum that is too low", lambda fact: fact.lower is not None and fact.lower < 1.0),
    ("a maximum that is too high", lambda fact: fact.upper is not None and fact.upper > 2.0),
    ("one bound alone", _is_one_sided),
    (
        "no bounds but a null count",
        _is_a_null_count_alone,
    ),
    ("bounds but no null count", lambda fact: fact.lower is not None and fact.null_count is None),
    ("bounds but no NaN count", lambda fact: fact.upper is not None and fact.nan_count is None),
    ("a true minimum not known to be attained", lambda fact: fact.lower == 1.0 and not fact.lower_exact),
    ("nothing at all", lambda fact: fact == NOTHING),
]


@pytest.mark.parametrize(("weakness", "has_it"), WEAKNESSES, ids=[weakness for weakness, _ in WEAKNESSES])
def test_true_facts_reach(weakness: str, has_it: Callable[[ColumnFacts], bool]) -> None:
    facts = find(true_facts(NUMBERS), lambda drawn: has_it(drawn[0].columns[0]), settings=REACH)
    assert has_it(facts[0].columns[0])


def test_true_facts_reach_bounds_for_a_block_of_nothing_but_null() -> None:
    nulls = Table((Column("x", INTEGER),), (((None,), (None,)),))
    facts = find(true_facts(nulls), lambda drawn: drawn[0].columns[0].lower is not None, settings=REACH)
    assert facts[0].columns[0].lower_exact is False


def test_true_facts_reach_truncated_bounds_of_a_long_string() -> None:
    text = b"a" * 20
    long = Table((Column("s", STRING),), (((text,),),))
    facts = find(
        true_facts(long),
        lambda drawn: (
            drawn[0].columns[0].lower == text[:16] and drawn[0].columns[0].upper == b"a" * 15 + b"b"
        ),
        settings=REACH,
    )
    assert not facts[0].columns[0].upper_exact


def test_metadata_pairs_reach_a_pair_whose_weak_side_lacks_a_column() -> None:
    _, weak = find(metadata_pairs(NUMBERS), lambda pair: not column_types(pair[1]), settings=REACH)
    assert weak.num_rows == 2
