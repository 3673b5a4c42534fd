"""What is kept of values as a part of block metadata: found by block, kept through every cut."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from looking_up import Rows, memberships, told

from pruning.expressions import types
from pruning.expressions.trees import Column, Compare, Comparison, In, Literal, Not
from pruning.expressions.types import Type, Value
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.memberships import FIELD, attach, indexed_columns, without_column
from pruning.metadata.table.schema import block_schema
from pruning.metadata.table.structs import field_of
from pruning.metadata.views import constant_columns
from pruning.metadata.views.constant_columns import with_constants
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks


def table(blocks: Sequence[Rows], type_: Type = types.INTEGER, *, budget: int = 1 << 20) -> pa.Table:
    """Block metadata of one column, with no bounds, and its memberships."""
    bare = {"file": "f", "row_offset": 0, "row_count": 9, "columns": {"x": {}}}
    rows = [{**bare, "row_group": place} for place in range(len(blocks))]
    metadata = pa.Table.from_pylist(rows, schema=block_schema({"x": type_}))
    return attach(metadata, [part(metadata, memberships(blocks, type_, budget))])


def part(metadata: pa.Table, known: pa.StructArray) -> Shard:
    locators = metadata.select(["file", "row_group", "row_count"])
    return Shard(("f",), locators.append_column(FIELD, known))


def equal(value: Value, type_: Type = types.INTEGER, name: str = "x") -> Compare:
    return Compare(Comparison.EQUAL, Column(name, type_), Literal(value, type_))


def test_a_block_that_cannot_hold_the_value_is_skipped() -> None:
    """Only NONE is ever proved: of a block of nothing but twos, "x is not 2" is, and no "x is 2"."""
    metadata = table([[1, 2], [3], [2, None]])
    assert indexed_columns(metadata) == {"x"}
    assert classify_blocks(equal(2), metadata).to_pylist() == [Match.SOME, Match.NONE, Match.SOME]
    assert classify_blocks(Not(equal(2)), metadata).to_pylist() == [Match.SOME, Match.SOME, Match.NONE]
    several = In(Column("x", types.INTEGER), (Literal(3, types.INTEGER), Literal(9, types.INTEGER)))
    assert classify_blocks(several, metadata).to_pylist() == [Match.NONE, Match.SOME, Match.NONE]
    plain = metadata.drop_columns([FIELD])
    assert classify_blocks(equal(2), plain).to_pylist() == [Match.SOME] * 3


def test_another_number_of_rows_is_another_block() -> None:
    """And a block that is not in the index is not known; nor is one in another order."""
    metadata = table([[1], [2], [3]]).drop_columns([FIELD])
    index = part(metadata, memberships([[1], [2], [3]], types.INTEGER, 1_024)).table
    counted = index.set_column(2, "row_count", pa.array([9, 8, 9], pa.int64()))
    for known, expected in (
        (counted, [0, 1, 1]),
        (index.slice(1), [1, 0, 1]),
        (index.take([2, 1, 0]), [0, 0, 1]),
    ):
        assert classify_blocks(equal(3), attach(metadata, [Shard(("f",), known)])).to_pylist() == expected
    assert attach(metadata, []) is metadata


def test_a_column_of_another_type_is_not_looked_up() -> None:
    """Narrower integers are; their buckets are not, as wider integers hash otherwise."""
    blocks: list[Rows] = [[1], [2]]
    wide = table(blocks, types.LONG).drop_columns([FIELD])
    narrow = part(wide, memberships(blocks, types.INTEGER, 1_024))
    assert classify_blocks(equal(2, types.LONG), attach(wide, [narrow])).to_pylist() == [
        Match.NONE,
        Match.SOME,
    ]
    text = part(wide, memberships([[b"1"], [b"2"]], types.STRING, 1_024))
    assert FIELD not in attach(wide, [text]).schema.names
    hashed = memberships([list(range(500)), []], types.INTEGER, 64)
    lanes = field_of(hashed, "x")
    for name, value in (("bucket", 1), ("modulus", 2)):
        place = lanes.type.get_field_index(name)
        arrays = [field_of(lanes, field.name) for field in lanes.type]
        arrays[place] = pa.array([value, value], pa.int64())
        lanes = pa.StructArray.from_arrays(arrays, fields=list(lanes.type))
    bucketed = pa.StructArray.from_arrays([lanes], names=["x"])
    widened = attach(wide, [part(wide, bucketed)]).column(FIELD).combine_chunks()
    assert told(bucketed, "bucket") == [True, True]
    assert told(widened, "bucket") == [False, False]


def test_a_column_that_takes_the_place_of_another_has_none_of_its_values() -> None:
    """A partition value hides the column of its name that the files have."""
    metadata = with_constants(table([[1], [2]]), "x", types.INTEGER, [7, 7])
    assert indexed_columns(metadata) == frozenset()
    assert classify_blocks(equal(7), metadata).to_pylist() == [Match.ALL] * 2
    other = with_constants(table([[1], [2]]), "y", types.INTEGER, [7, 7])
    assert indexed_columns(other) == {"x"}
    assert without_column(other, "x").column(FIELD).type == pa.struct([])


def test_slices_filters_and_streams_keep_what_is_known() -> None:
    """As executors and partial reads cut metadata."""
    blocks = [[number, number + 1] for number in range(20)]
    metadata = table(blocks)
    expected = classify_blocks(equal(7), metadata)
    assert classify_blocks(equal(7), metadata.slice(5, 9)).equals(expected.slice(5, 9))
    mask = pa.array([number % 3 == 0 for number in range(20)])
    assert classify_blocks(equal(7), metadata.filter(mask)).equals(expected.filter(mask))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, metadata.schema) as writer:
        writer.write_table(pa.concat_tables([metadata.slice(8), metadata.slice(0, 8)]))
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        again = reader.read_all()
    assert classify_blocks(equal(7), again).equals(
        pa.concat_arrays([expected.slice(8), expected.slice(0, 8)])
    )


def test_a_replaced_column_that_kept_its_values_would_lose_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constant_columns, "without_column", lambda metadata, _: metadata)
    metadata = with_constants(table([[1], [2]]), "x", types.INTEGER, [7, 7])
    assert classify_blocks(equal(7), metadata).to_pylist() == [Match.NONE] * 2
