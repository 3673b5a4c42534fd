"""Statistics in Delta's log: forms of JSON, structs of checkpoints, and numbers that cannot be."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from delta_logs import WrittenLog, add, column, inline, metadata, protocol, struct_of
from hypothesis import given
from hypothesis import strategies as st
from test_delta_blocks import blocks_of
from written_statistics import TYPES, WrittenRows, written_columns

from pruning.metadata.delta.columns import DeltaField, columns_of
from pruning.metadata.delta.json_statistics import columnar_statistics, json_statistics, statistics_one_by_one
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.delta.statistics import FileStatistics
from pruning.metadata.delta.struct_statistics import struct_statistics
from pruning.metadata.table.live_rows import FIELD


def field_of(type_: Any, *path: str) -> DeltaField:
    fields = columns_of("t", metadata(column("v", type_))["metaData"], is_mapped=False).fields
    return DeltaField(path=path or ("v",), type=fields["v"].type)


def as_lists(statistics: FileStatistics) -> list[Any]:
    """Return statistics as lists, times as integers, because they may be beyond Python's."""
    lists: list[Any] = [statistics.row_counts.tolist(), statistics.is_tight.tolist()]
    for field in statistics.fields:
        sides = [
            side.cast(pa.int64()) if pa.types.is_timestamp(side.type) else side
            for side in (field.lower, field.upper)
        ]
        # NaN is not itself.
        lists += [field.null_counts.tolist(), field.is_garbled.tolist(), [repr(s.to_pylist()) for s in sides]]
    return lists


@examples(0.5)
@given(column=written_columns())
def test_decoding_by_columns_agrees_with_decoding_one_by_one(column: tuple[str, list[WrittenRows]]) -> None:
    type_, files = column
    texts = [file.add("a", type_, is_nested=False)["add"]["stats"] for file in files]
    field = field_of(type_)
    slow = statistics_one_by_one(pa.array(texts), [field])
    assert as_lists(json_statistics(pa.array(texts), [field])) == as_lists(slow)


USUAL = {
    "long": 5, "double": 2.5, "float": 2.5, "string": "a", "boolean": True, "date": "2024-01-01",
    "timestamp": "2024-01-01T00:00:00.000Z", "timestamp_ntz": "2024-01-01T00:00:00.000",
    "byte": 5, "decimal(9,2)": 2.5, "decimal(38,2)": 2.5,
}  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
def test_usual_statistics_are_decoded_by_columns(type_: str) -> None:
    """Without this, all statistics might be decoded one by one, which takes ten times as long."""
    stats = {"numRecords": 3, "minValues": {"v": USUAL[type_]}, "nullCount": {"v": 0}}
    texts = pa.array([json.dumps(stats), None, "null"])
    statistics = columnar_statistics(texts, [field_of(type_)])
    assert statistics.row_counts[0] == 3
    assert [value.is_valid for value in statistics.fields[0].lower] == [True, False, False]


#     type            form in JSON                          understood
FORMS = [
    ("long", 1.0, False),
    ("long", "1", False),
    ("long", 2**63, False),
    ("long", True, False),
    ("byte", 128, False),
    ("double", 3, True),
    ("double", "2.5", False),
    ("double", "Infinity", True),
    ("float", "-Infinity", True),
    ("decimal(9,2)", 1e20, False),
    ("decimal(9,2)", "1.5", False),
    ("string", 5, False),
    ("string", "\ud83d", False),
    ("boolean", 1, False),
    ("date", "2024-02-30", False),
    ("date", "2024-01-01T00:00:00", False),
    ("timestamp", "2024-01-01 00:00:00", False),
    ("timestamp", "2024-01-01T00:00:00.000-08:00", True),
    ("timestamp", "yesterday", False),
    ("timestamp_ntz", "2024-01-01", True),
    ("timestamp_ntz", "2024-01-01T00:00:00Z", False),
    ("binary", "a", False),
]


@pytest.mark.parametrize(("type_", "form", "is_understood"), FORMS)
def test_a_bound_of_another_form_is_dropped_with_the_other_bound(
    type_: str, form: Any, is_understood: bool, tmp_path: Path
) -> None:
    other = USUAL.get(type_, "a") if form != "-Infinity" else None
    stats = {"numRecords": 3, "minValues": {"v": other}, "maxValues": {"v": form}, "nullCount": {"v": 0}}
    log = WrittenLog(tmp_path / "t")
    log.commit(protocol(3, "timestampNtz"), metadata(column("v", type_)), add("a", stats), add("b", stats))
    block = blocks_of(log.root, "v")[0]
    assert (block["max"] is not None) == is_understood
    if not is_understood:
        assert block["min"] is None


IMPOSSIBLE = [
    ({"numRecords": -1, "nullCount": {"v": 0}}, True, 0),
    ({"numRecords": 3.5, "nullCount": {"v": 3}}, True, None),
    ({"numRecords": 3, "nullCount": {"v": 4}}, False, None),
    ({"numRecords": 3, "nullCount": {"v": -1}}, False, None),
    ({"numRecords": 3, "nullCount": {"v": "0"}}, False, None),
    ({"numRecords": 3, "nullCount": {"v": 3}, "maxValues": {"v": 5}}, False, None),
    ({"numRecords": 3, "nullCount": 3, "maxValues": [5], "minValues": None}, False, None),
    ([3], True, None),
    ("{", True, None),
    ("", True, None),
    ("{}{}", True, None),
]


@pytest.mark.parametrize(("stats", "is_uncounted", "nulls"), IMPOSSIBLE)
def test_numbers_that_cannot_be_are_unknown(
    stats: Any, is_uncounted: bool, nulls: int | None, tmp_path: Path
) -> None:
    log = WrittenLog(tmp_path / "t")
    text = stats if isinstance(stats, str) else json.dumps(stats)
    log.commit(protocol(), metadata(column("v")), add("a", text), add("b", {"numRecords": 7}))
    first, second = blocks_of(log.root, "v")
    assert (first["uncounted"], first["null_count"], second["row_count"]) == (is_uncounted, nulls, 7)


def test_bounds_that_cross_are_dropped(tmp_path: Path) -> None:
    stats = {"numRecords": 3, "minValues": {"v": 9}, "maxValues": {"v": 5}}
    log = WrittenLog(tmp_path / "t").commit(protocol(), metadata(column("v")), add("a", stats))
    (block,) = blocks_of(log.root, "v")
    assert (block["min"], block["max"]) == (None, None)


def test_dates_that_spark_may_move_are_unknown(tmp_path: Path) -> None:
    """A file of an old Spark has 1500-01-01 in another calendar; its statistics have the text."""
    stats = {"numRecords": 3, "minValues": {"v": "1500-01-01"}, "maxValues": {"v": "2024-01-01"}}
    log = WrittenLog(tmp_path / "t").commit(protocol(), metadata(column("v", "date")), add("a", stats))
    (block,) = blocks_of(log.root, "v")
    assert (block["min"], block["max"]) == (None, 19723)


@pytest.mark.parametrize("cardinality", [4, -1, None])
def test_more_deleted_rows_than_rows_leave_rows_uncounted(cardinality: int | None, tmp_path: Path) -> None:
    vector = inline([0]) | {"cardinality": cardinality}
    log = WrittenLog(tmp_path / "t")
    log.commit(protocol(), metadata(column("v")), add("a", {"numRecords": 3}, deletionVector=vector))
    (block,) = blocks_of(log.root, "v")
    assert block["uncounted"]


def test_only_named_columns_and_their_fields_are_in_blocks(tmp_path: Path) -> None:
    fields = (column("v"), column("s", struct_of(column("x y"), column("z", "string"))), column("p"))
    log = WrittenLog(tmp_path / "t")
    log.commit(protocol(), metadata(*fields, partitions=["p"]), add("a", partitionValues={"p": "3"}))
    table = open_delta_version(str(log.root))
    columns = table.blocks(frozenset({"s", "p", "none"})).schema.field("columns").type
    assert [field.name for field in columns] == ["`s`.`x y`", "`s`.`z`", "p"]
    assert table.blocks(frozenset())["row_count"].to_pylist() == [1]
    assert table.blocks(frozenset())[FIELD].to_pylist() == [True]


def test_a_version_without_files_has_no_block(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "t").commit(protocol(), metadata(column("v"), column("p"), partitions=["p"]))
    table = open_delta_version(str(log.root))
    assert table.blocks(frozenset({"v", "p"})).num_rows == 0
    assert table.files.paths == ()


def checkpoint_of(log: WrittenLog, stats: pa.Table, texts: list[str | None]) -> None:
    """Write a checkpoint whose files have their statistics in a struct, or as a text."""
    start = [
        protocol()["protocol"],
        metadata(column("v", "timestamp"), column("d", "decimal(20,2)"))["metaData"],
    ]
    start[1] = start[1] | {"configuration": list(start[1]["configuration"].items())}
    count = len(texts)
    adds = pa.StructArray.from_arrays(
        [
            pa.array([f"{place}" for place in range(count)]),
            pa.array([10] * count),
            pa.array([5] * count),
            pa.array([[]] * count, pa.map_(pa.string(), pa.string())),
            pa.array(texts, pa.string()),
            stats.to_struct_array().combine_chunks(),
        ],
        names=["path", "size", "modificationTime", "partitionValues", "stats", "stats_parsed"],
    )
    table = pa.table(
        {
            "protocol": pa.array([start[0], None] + [None] * count),
            "metaData": pa.array(
                [None, start[1]] + [None] * count,
                pa.struct([("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string()))]),
            ),
            "add": pa.concat_arrays([pa.nulls(2, adds.type), adds]),
        }
    )
    pq.write_table(table, log.log / f"{0:020d}.checkpoint.parquet", use_deprecated_int96_timestamps=True)


def test_statistics_of_a_checkpoint_may_be_structs(tmp_path: Path) -> None:
    """Times are INT96, as older releases of Spark write them; a text goes before the struct."""
    bounds = [{"v": 253_402_214_400_000_000, "d": Decimal("12345678901234567.89")}] * 3
    type_ = pa.struct([("v", pa.timestamp("us")), ("d", pa.decimal128(20, 2))])
    stats = pa.table(
        {
            "numRecords": pa.array([4, 5, None], pa.int64()),
            "tightBounds": [True, None, False],
            "minValues": pa.array(bounds, type_),
            "maxValues": pa.array(bounds, type_),
            "nullCount": pa.array([{"v": 1, "d": 0}] * 3),
        }
    )
    log = WrittenLog(tmp_path / "t")
    checkpoint_of(log, stats, [None, json.dumps({"numRecords": 9}), None])
    times, decimals = blocks_of(log.root, "v"), blocks_of(log.root, "d")
    assert [block["row_count"] for block in times] == [4, 9, 1]
    assert [block["null_count"] for block in times] == [1, None, None]
    assert [block["max"] for block in times] == [253_402_214_400_000_999, None, 253_402_214_400_000_999]
    assert decimals[0]["max"] == Decimal("12345678901234567.89")


#     stored in a struct             column     min
WIDENED = [
    (pa.array([5], pa.int32()), "long", 5),
    (pa.array([5], pa.int32()), "double", 5.0),
    (pa.array([5], pa.int64()), "decimal(22,2)", Decimal("5.00")),
    (pa.array([300], pa.int64()), "byte", None),
    (pa.array(["5"]), "long", None),
    (pa.array([2.5], pa.float64()), "float", None),
    (pa.array([1], pa.date32()), "timestamp_ntz", 86_400_000_000),
    (pa.array([Decimal("1.5")]), "decimal(9,2)", Decimal("1.50")),
    (pa.array([True]), "boolean", True),
]


@pytest.mark.parametrize(("values", "type_", "lower"), WIDENED)
def test_bounds_in_a_struct_are_of_a_narrower_type_or_unknown(
    values: pa.Array, type_: str, lower: Any
) -> None:
    part = pa.StructArray.from_arrays([values], names=["v"])
    parsed = pa.StructArray.from_arrays([part], names=["minValues"])
    (statistics,) = struct_statistics(parsed, [field_of(type_)]).fields
    (bound,) = statistics.lower
    assert (bound.value if pa.types.is_timestamp(bound.type) else bound.as_py()) == lower
    assert statistics.is_garbled.tolist() == [lower is None]


@examples(0.2)
@given(st.lists(st.none() | st.text(max_size=5), max_size=3))
def test_texts_are_never_taken_for_those_of_other_files(texts: list[str | None]) -> None:
    """A text may have lines, or more than one object, or none."""
    mixed = [text for text in texts for text in (text, '{"numRecords": 1}', '{}\n{"numRecords": 2}')]
    statistics = json_statistics(pa.array(mixed, pa.string()), [])
    assert statistics.row_counts[1::3].tolist() == [1] * len(texts)
