"""What can occur in single-valued blocks, and what a function's values there say of it."""

import math
import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st

from mutants.metadata.constant_blocks import MUTANTS
from pruning.expressions import types
from pruning.expressions.trees import Column
from pruning.expressions.types import Type
from pruning.metadata.table.schema import arrow_type, block_schema
from pruning.metadata.views import constant_blocks as module
from pruning.metadata.views.constant_blocks import constant_blocks, with_function
from strategies.base.layouts import tables
from strategies.base.metadata import exact_facts, metadata, to_metadata
from strategies.base.tables import Table, to_arrow

NAME = "f(...)"
RESULTS = {
    types.LONG: (None, -1, 0, 7),
    types.DOUBLE: (None, math.nan, -1.5, 2.0),
    types.BOOLEAN: (None, False, True),
}


def function(cells: Sequence[Any], type_: Type) -> Any:
    """Some function that tells NULL, NaN, 0.0 and -0.0 apart."""
    results = RESULTS[type_]
    return results[zlib.crc32(repr(tuple(cells)).encode()) % len(results)]


def cells(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def derived(known: pa.Table, columns: Sequence[Column], type_: Type) -> list[dict[str, Any] | None]:
    """What is known of the function in each block; None where no block qualifies."""
    found = constant_blocks(known, columns, pa.array([True] * len(known)))
    if found is None:
        return [None] * len(known)
    values = pa.array([function(row, type_) for row in cells(found.combinations)], arrow_type(type_))
    failed = pa.array([False] * len(values))
    table = with_function(known, NAME, type_, found, values=values, failed=failed)
    table.validate(full=True)
    assert table.drop_columns("columns").equals(known.drop_columns("columns"))
    return [facts[NAME] for facts in table["columns"].to_pylist()]


def lies(facts: dict[str, Any], values: Sequence[Any]) -> list[str]:
    """The parts of what is known of a block that its rows belie."""
    nulls = sum(value is None for value in values)
    nans = sum(isinstance(value, float) and math.isnan(value) for value in values)
    numbers = [value for value in values if value is not None and value == value]
    found = []
    if facts["null_count"] not in (None, nulls):
        found.append("null_count")
    if facts["nan_count"] not in (None, nans):
        found.append("nan_count")
    if any(facts["min"] is not None and value < facts["min"] for value in numbers):
        found.append("min")
    if any(facts["max"] is not None and value > facts["max"] for value in numbers):
        found.append("max")
    if facts["min_exact"] and facts["min"] not in numbers:
        found.append("min_exact")
    if facts["max_exact"] and facts["max"] not in numbers:
        found.append("max_exact")
    return found


@examples(4)
@given(st.data())
def test_what_is_known_of_a_function_is_true_of_each_row(data: st.DataObject) -> None:
    """DERIVED-1. Whatever the metadata tells or leaves out."""
    table: Table = data.draw(tables())
    known = data.draw(metadata(table))
    columns = data.draw(st.lists(st.sampled_from(table.columns), min_size=1, max_size=2, unique=True))
    type_ = data.draw(st.sampled_from(tuple(RESULTS)))
    for block, facts in zip(table.blocks, derived(known, columns, type_), strict=True):
        rows = to_arrow(table.columns, block).select([column.name for column in columns])
        values = [function(row, type_) for row in cells(rows)]
        event("known" if facts and facts["null_count"] is not None else "unknown")
        assert facts is None or lies(facts, values) == []


D = Column("d", types.DOUBLE)
S = Column("s", types.STRING)


def double_blocks(*blocks: Sequence[float | None]) -> pa.Table:
    """Exact metadata of blocks of one column, but for the count of NaN, which no footer tells."""
    table = Table((D,), tuple(tuple((cell,) for cell in block) for block in blocks))
    facts = to_metadata(table, exact_facts(table)).to_pylist()
    for row in facts:
        row["columns"]["d"]["nan_count"] = None
    return pa.Table.from_pylist(facts, block_schema({"d": types.DOUBLE}))


BLOCKS = ((1.0, 1.0), (1.0, None), (0.0, -0.0), (2.0, math.nan), (None, None), (1.0, 2.0), ())
#             what each block's rows may be
OCCURRING = (
    ("1.0", "nan"),
    ("1.0", "None", "nan"),
    ("-0.0", "0.0", "nan"),
    ("2.0", "nan"),
    ("None",),
    (),
    (),
)


def occurring(known: pa.Table) -> tuple[tuple[str, ...], ...]:
    found = constant_blocks(known, [D], pa.array([True] * len(known)))
    assert found is not None
    values = found.combinations["0"].to_pylist()
    pairs = list(zip(found.block.to_pylist(), found.combination.to_pylist(), strict=True))
    return tuple(
        tuple(sorted(str(values[place]) for block, place in pairs if block == ordinal))
        for ordinal in range(len(known))
    )


def test_each_block_has_exactly_the_rows_that_its_metadata_allows():
    assert occurring(double_blocks(*BLOCKS)) == OCCURRING


def test_combinations_are_distinct():
    found = constant_blocks(double_blocks(*BLOCKS, *BLOCKS), [D], pa.array([True] * 14))
    assert found is not None
    assert len(found.combinations) == len(set(map(repr, cells(found.combinations)))) == 6


def test_blocks_that_are_not_asked_of_have_no_part():
    found = constant_blocks(double_blocks(*BLOCKS), [D], pa.array([False, True] + [False] * 5))
    assert found is not None
    assert set(found.block.to_pylist()) == {1}
    assert constant_blocks(double_blocks(*BLOCKS), [D], pa.array([False] * 7)) is None


def test_too_many_combinations_are_left_unknown(monkeypatch):
    monkeypatch.setattr(module, "COMBINATIONS_MAX", 5)
    assert constant_blocks(double_blocks(*BLOCKS), [D], pa.array([True] * 7)) is None


def test_a_column_that_the_metadata_lacks_is_unknown():
    assert constant_blocks(double_blocks(*BLOCKS), [D, S], pa.array([True] * 7)) is None


def test_a_combination_without_a_value_leaves_its_blocks_unknown():
    known = double_blocks((None, None), (1.0, 1.0))
    found = constant_blocks(known, [D], pa.array([True, True]))
    assert found is not None
    combinations = [row[0] for row in cells(found.combinations)]
    values = pa.array([5] * len(combinations), pa.int64())
    failed = pa.array([value == 1.0 for value in combinations])
    table = with_function(known, NAME, types.LONG, found, values=values, failed=failed)
    first, second = (row[NAME] for row in table["columns"].to_pylist())
    assert (first["min"], first["max"], first["null_count"], first["min_exact"]) == (5, 5, 0, True)
    assert set(second.values()) == {None}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_that_forgets_an_alternative_is_found_out(mutant, monkeypatch):
    """Without this, DERIVED-1 could hold because nothing is ever known."""
    known = double_blocks(*BLOCKS)
    rows = [[function((cell,), types.LONG) for cell in block] for block in BLOCKS]

    def liars() -> int:
        facts = derived(known, [D], types.LONG)
        return sum(bool(lies(*pair)) for pair in zip(facts, rows, strict=True))

    assert liars() == 0
    monkeypatch.setattr(*MUTANTS[mutant])
    assert liars() > 0
