"""Statistics of new files bound their values for every reader, whether from rows or from footers."""

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given, settings
from hypothesis import strategies as st

# The packages are in the extra `delta`.
pytest.importorskip("pyroaring")
pytest.importorskip("deltalake")
from changed_delta_tables import WrittenTable, rows_by_delta_rs, write_table
from deltalake import DeltaTable

from mutants.metadata.delta_writing import STATISTICS_MUTANTS
from pruning.errors import InputError
from pruning.metadata.delta.changed_files import describe_file
from pruning.metadata.delta.commits import DeltaCommit
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.file_statistics import (
    partition_text,
    row_count_of,
    statistics_of_blocks,
    statistics_of_rows,
)
from pruning.metadata.delta.log_actions import DeltaMetadata
from pruning.metadata.delta.statistics_columns import statistics_columns
from pruning.metadata.delta.writer_protocol import RowChange
from pruning.metadata.table.blocks import unite
from pruning.metadata.table.reading import read_footers

EPOCH = datetime.datetime(1970, 1, 1)
UTC = datetime.UTC
# For each type of Delta: the type of Arrow, and values.
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "byte": (pa.int8(), st.integers(-128, 127)),
    "integer": (pa.int32(), st.integers(-5, 5)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf, math.nan])),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 0.1, -1e300, math.inf, math.nan])),
    "decimal(20,2)": (
        pa.decimal128(20, 2),
        st.integers(-(10**19), 10**19).map(lambda units: Decimal(units).scaleb(-2))
        | st.just(Decimal("1.50")),
    ),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "string": (
        pa.string(),
        st.text("ab\x7f\U0010ffff\uffff", max_size=3) | st.text("b\U0010ffff", min_size=31),
    ),
    "boolean": (pa.bool_(), st.booleans()),
    "binary": (pa.binary(), st.binary(max_size=2)),
}
BOUNDED = [kind for kind in TYPES if kind not in ("boolean", "binary")]


def metadata_of(fields: dict[str, Any], **properties: str) -> DeltaMetadata:
    """Return the metadata of a table with columns of these types."""
    listed = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()]
    schema = {"type": "struct", "fields": listed}
    return DeltaMetadata(fields={"schemaString": json.dumps(schema), "configuration": properties})


def bound_value(kind: str, value: Any) -> Any:
    """Return a bound of the log as a value that compares as the column's values do in `comparable`."""
    if kind.startswith("decimal"):
        return Decimal(str(value))
    if kind == "date":
        return datetime.date.fromisoformat(value)
    if kind.startswith("timestamp"):
        assert value.endswith("Z") == (kind == "timestamp")
        return datetime.datetime.fromisoformat(value.removesuffix("Z"))
    return value.encode() if kind == "string" else value


def comparable(kind: str, value: Any) -> Any:
    """Return a value in the order of readers: texts by their bytes, times without a zone."""
    if kind == "string":
        return value.encode()
    return value.replace(tzinfo=None) if kind == "timestamp" else value


def check_statistics(kind: str, values: list[Any], statistics: str) -> bool:
    """Check the statistics of a file with one column; tell whether it has bounds."""
    fields = json.loads(statistics, parse_float=Decimal if kind.startswith("decimal") else float)
    assert fields["numRecords"] == len(values)
    assert fields["nullCount"].get("c", values.count(None)) == values.count(None)
    assert fields["minValues"].keys() == fields["maxValues"].keys()
    if "c" not in fields["minValues"]:
        return False
    lower, upper = (bound_value(kind, fields[name]["c"]) for name in ("minValues", "maxValues"))
    for value in values:
        if value is not None:
            assert lower <= comparable(kind, value) <= upper
    return True


def footer_statistics(metadata: DeltaMetadata, path: Path, rows: pa.Table) -> str:
    """Return the statistics from the footer of a file that is written with two rows in a row group."""
    pq.write_table(rows, path, row_group_size=2)
    return statistics_of_blocks(metadata, unite(read_footers([str(path)]).shards, [str(path)]))


@pytest.mark.parametrize("kind", TYPES)
def test_bounds_hold_for_all_values(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """STATS-1; from the rows and from the footer of a file."""
    folder = tmp_path_factory.mktemp("files")
    arrow, values = TYPES[kind]
    metadata = metadata_of({"c": kind})
    bounded = set()

    @settings(examples(0.3))
    @given(st.lists(st.none() | values, max_size=5))
    def holds(values: list[Any]) -> None:
        rows = pa.table({"c": pa.array(values, arrow)})
        bounded.add(check_statistics(kind, values, statistics_of_rows(metadata, rows)))
        check_statistics(kind, values, footer_statistics(metadata, folder / "f.parquet", rows))

    holds()
    assert bounded == ({True, False} if kind in BOUNDED else {False})


def test_statistics_are_written_as_other_writers_do(tmp_path: Path) -> None:
    """Of structs by field; a field of a struct that is NULL is NULL. Lists only have a count of NULL."""
    struct = {"type": "struct", "fields": [{"name": "a", "type": "long"}, {"name": "b`", "type": "string"}]}
    array = {"type": "array", "elementType": "long", "containsNull": True}
    kinds = {"s": struct, "l": array, "t": "timestamp", "x": "string", "f": "double", "none": "long"}
    time = datetime.datetime(2020, 1, 1, 1, 1, 1, 123456, UTC)
    rows = pa.table(
        {
            "s": pa.array([{"a": 1, "b`": "x"}, None, {"a": None, "b`": "y"}]),
            "l": [[1, 2], None, []],
            "t": pa.array([time] * 3, pa.timestamp("us", tz="UTC")),
            "x": ["a" * 40, "b" * 40, "b"],
            "f": [0.0, 0.0, 2.5],
        }
    )
    expected = {
        "numRecords": 3,
        "minValues": {"s": {"a": 1, "b`": "x"}, "t": "2020-01-01T01:01:01.123Z", "x": "a" * 32, "f": -0.0},
        "maxValues": {
            "s": {"a": 1, "b`": "y"},
            "t": "2020-01-01T01:01:01.124Z",
            "x": "b" * 32 + "\U0010ffff",
            "f": 2.5,
        },
        "nullCount": {"s": {"a": 2, "b`": 1}, "l": 1, "t": 0, "x": 0, "f": 0, "none": 3},
        "tightBounds": True,
    }
    metadata = metadata_of(kinds)
    assert json.loads(statistics_of_rows(metadata, rows)) == expected
    # A footer does not say how many lists are NULL, nor whether there is NaN.
    by_footer = json.loads(footer_statistics(metadata, tmp_path / "f.parquet", rows))
    for name in ("minValues", "maxValues"):
        # The values of this dictionary have different types.
        expected[name].pop("f")  # type: ignore[attr-defined]
    expected["nullCount"] = {"s": {"a": 2, "b`": 1}, "t": 0, "x": 0, "f": 0}
    assert by_footer == expected
    assert row_count_of(statistics_of_rows(metadata, rows)) == 3
    assert [row_count_of(text) for text in (None, "?", "[]", '{"numRecords":-1}')] == [None] * 4


def test_columns_have_statistics_as_the_properties_say() -> None:
    struct = {"type": "struct", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "long"}]}
    kinds = {"a": "long", "S": struct, "b.c": "long", **{f"c{number}": "long" for number in range(40)}}

    def names(**properties: str) -> list[str]:
        spelled = {f"delta.{name}": value for name, value in properties.items()}
        return [".".join(column.names) for column in statistics_columns(metadata_of(kinds, **spelled))]

    assert len(names()) == 32
    assert len(names(dataSkippingNumIndexedCols="-1")) == 44
    assert names(dataSkippingNumIndexedCols="2") == ["a", "S.x"]
    assert names(dataSkippingNumIndexedCols="none") == names(dataSkippingNumIndexedCols="0") == []
    assert names(dataSkippingStatsColumns="s, `b.c`,A") == ["a", "S.x", "S.y", "b.c"]
    assert names(dataSkippingStatsColumns="s.Y") == ["S.y"]
    assert names(dataSkippingStatsColumns="a b") == []


def test_columns_of_mapped_tables_have_the_names_of_the_files(tmp_path: Path) -> None:
    """And a new file must have their ids."""
    field = {"name": "a", "type": "long", "nullable": True}
    field["metadata"] = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-1"}
    metadata = DeltaMetadata(
        fields={
            "schemaString": json.dumps({"type": "struct", "fields": [field, {**field, "name": "p"}]}),
            "configuration": {"delta.columnMapping.mode": "name"},
            "partitionColumns": ["p"],
        }
    )
    for identity, raised in (("7", False), ("8", True)):
        column = pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": identity})
        pq.write_table(pa.table([[1, 2]], schema=pa.schema([column])), tmp_path / "f.parquet")
        if raised:
            with pytest.raises(InputError, match="its column col-1 must have the field id 7"):
                describe_file(str(tmp_path), "f.parquet", metadata, {"p": "1"})
        else:
            file = describe_file(str(tmp_path), "f.parquet", metadata, {"p": "1"})
    assert file.partition_values == {"col-1": "1"}
    assert json.loads(file.statistics or "")["maxValues"] == {"col-1": 2}


def test_delta_rs_reads_a_file_that_was_added(tmp_path: Path) -> None:
    """Its path is escaped in the log, and its statistics lead delta-rs to the right rows."""
    table = write_table(tmp_path, pa.table({"x": range(3), "s": ["a"] * 3}))
    name = "p=ä b%20/new file.parquet"
    Path(tmp_path, name).parent.mkdir()
    pq.write_table(pa.table({"x": [7, 8], "s": ["z" * 50, None]}), tmp_path / name)
    add_file(table, name)
    assert rows_by_delta_rs(table) == [0, 1, 2, 7, 8]
    for text in ("z" * 50, "z" * 32):
        wanted = [7] if len(text) == 50 else []
        assert rows_by_delta_rs(table, f"SELECT x FROM t WHERE s = '{text}'") == wanted
    assert rows_by_delta_rs(table, "SELECT x FROM t WHERE s IS NULL") == [8]
    actions = pa.table(DeltaTable(table.root).get_add_actions(flatten=True)).to_pylist()
    assert next(action for action in actions if action["min.x"] == 7)["null_count.s"] == 1


def add_file(table: WrittenTable, name: str) -> None:
    state = table.state
    commit = DeltaCommit(
        operation="WRITE",
        change=RowChange.INSERT,
        read_version=state.version,
        added=(describe_file(table.root, name, state.metadata, {}),),
    )
    commit_changes(table.root, commit, table.reads())


def test_files_that_do_not_fit_the_table_are_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path, pa.table({"x": range(3)}))
    pq.write_table(pa.table({"y": [1]}), tmp_path / "other.parquet")
    for name, values, message in (
        ("other.parquet", {}, "its column y is no data column of the table"),
        ("other.parquet", {"p": "1"}, r"has values of the partition columns \['p'\]; give \[\]"),
        ("none.parquet", {}, "none.parquet"),
    ):
        with pytest.raises(InputError, match=message):
            describe_file(table.root, name, table.state.metadata, values)


def test_partition_values_have_the_form_of_the_protocol() -> None:
    time = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
    instant = time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    values = [None, "a b", 5, True, Decimal("1E+2"), 1.5, time.date(), time, instant]
    assert [partition_text(value) for value in values] == [
        None, "a b", "5", "true", "100", "1.5", "2020-01-02", "2020-01-02 03:04:05.000006",
        "2020-01-02T02:04:05.000006Z",
    ]  # fmt: skip
    for value in ("", b"x"):
        with pytest.raises(InputError, match="cannot be the value of a partition column"):
            partition_text(value)


@pytest.mark.parametrize("mutant", STATISTICS_MUTANTS)
def test_a_mutant_of_statistics_is_found_out(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*STATISTICS_MUTANTS[mutant])
    cases = {
        "string": ["a" * 40],
        "timestamp": [datetime.datetime(2020, 1, 1, 0, 0, 0, 1, UTC)],
        "double": [1.0, math.nan],
    }
    with pytest.raises(AssertionError):
        check_cases(cases)


def check_cases(cases: dict[str, list[Any]]) -> None:
    for kind, values in cases.items():
        rows = pa.table({"c": pa.array(values, TYPES[kind][0])})
        check_statistics(kind, values, statistics_of_rows(metadata_of({"c": kind}), rows))
