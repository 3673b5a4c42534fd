"""Block metadata of a version as Spark reads its files: bounds in narrower types, and partition columns."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.trees import Column
from pruning.expressions.types import Kind, Type, decimal
from pruning.metadata.table.partial import noted_columns
from pruning.metadata.versioned import layout_blocks
from pruning.metadata.versioned.table_version import TableVersion, VersionFiles
from strategies.base.metadata import exact_facts, to_metadata, true_facts
from strategies.base.tables import Table
from strategies.base.values import values

WIDE_AND_NARROW = [
    (Type(Kind.LONG), Type(Kind.INTEGER)),
    (Type(Kind.INTEGER), Type(Kind.SHORT)),
    (Type(Kind.DOUBLE), Type(Kind.FLOAT)),
    (decimal(38, 10), decimal(30, 10)),
]
# Values of the wider types that the narrower ones have not.
OUTSIDE: dict[Kind, Any] = {
    Kind.LONG: 1 << 40,
    Kind.INTEGER: 1 << 20,
    Kind.DOUBLE: 0.1,
    Kind.DECIMAL: Decimal("1e27"),
}


class NoDeletes:
    """Deletes of no row."""

    mask = np.zeros(1, bool)

    def positions(self, places: Any) -> Any:
        """Return no positions."""
        return []


def version_of(blocks: pa.Table, partition_values: pa.Table) -> TableVersion:
    """Return a version of one file with this metadata."""
    numbers = np.zeros(len(blocks), np.int64)
    return TableVersion(
        format="Delta Lake",
        location="/t",
        version=0,
        schema="{}",
        partition_columns=tuple(partition_values.column_names),
        layouts=(),
        files=VersionFiles(
            paths=tuple(blocks.column("file").to_pylist()),
            byte_counts=numbers,
            modified_ms=numbers,
            layouts=numbers,
            partition_values=partition_values,
            sequence_numbers=numbers,
            partition_ids=numbers,
        ),
        deleted_rows=NoDeletes(),
        equality_deletes=(),
        blocks=lambda names: blocks,
    )


@pytest.mark.parametrize(("wide", "narrow"), WIDE_AND_NARROW, ids=str)
@given(data=st.data())
def test_narrower_bounds_always_bound_what_is_read(wide: Type, narrow: Type, data: st.DataObject) -> None:
    """Whatever the metadata says of values that the narrower type has: loose bounds may lie outside of it."""
    rows = data.draw(st.lists(values(narrow) | st.none(), min_size=1, max_size=4))
    table = Table((Column("x", wide),), (tuple((value,) for value in rows),))
    blocks = to_metadata(table, data.draw(true_facts(table)))
    version = version_of(blocks, pa.table({}))
    read = layout_blocks.layout_blocks(version, np.array([0]), frozenset({"x"}), {"x": narrow})
    (facts,) = read.column("columns").to_pylist()
    for value in rows:
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            compared = value.encode() if isinstance(value, str) else value
            assert facts["x"]["min"] is None or facts["x"]["min"] <= compared
            assert facts["x"]["max"] is None or facts["x"]["max"] >= compared


def test_a_bound_that_the_narrower_type_has_not_is_left_out() -> None:
    """Both kinds of bounds are reached: one is kept, one is no value of the narrower type."""
    for wide, narrow in WIDE_AND_NARROW:
        inside: Any = Decimal("1.0000000000") if narrow.kind is Kind.DECIMAL else 1
        outside = OUTSIDE[wide.kind]
        lower, upper = sorted((inside, outside))
        table = Table((Column("x", wide),), (((lower,), (upper,)),))
        blocks = to_metadata(table, exact_facts(table))
        read = layout_blocks.layout_blocks(
            version_of(blocks, pa.table({})), np.array([0]), frozenset({"x"}), {"x": narrow}
        )
        (facts,) = read.column("columns").to_pylist()
        kept = {facts["x"]["min"], facts["x"]["max"]}
        assert kept == {inside, None}, narrow


def test_a_partition_column_has_its_value_and_what_was_read_is_noted() -> None:
    table = Table((Column("x", Type(Kind.LONG)),), (((1,),),))
    blocks = to_metadata(table, exact_facts(table))
    version = version_of(blocks, pa.table({"p": pa.array(["a"])}))
    types = {"x": Type(Kind.LONG), "p": Type(Kind.STRING)}
    read = layout_blocks.layout_blocks(version, np.array([0]), frozenset({"p"}), types)
    (facts,) = read.column("columns").to_pylist()
    assert (facts["p"]["min"], facts["p"]["max"], facts["p"]["null_count"]) == ("a", "a", 0)
    assert noted_columns(read) == {"p"}
