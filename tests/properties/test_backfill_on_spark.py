"""MEASURED-1: what is measured of a column in a row group is what Spark computes of the same rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from mutants.metadata.measuring import MUTANTS
from oracles.answers.frames import settings
from pruning.expressions.trees import Column
from pruning.expressions.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from pruning.metadata.backfill.measured_files import measure_files
from pruning.metadata.table.measured import DISTINCT
from pruning.metadata.table.schema import column_types
from strategies.base.files import write_blocks
from strategies.base.tables import Row, to_arrow
from strategies.base.values import PLAIN_TYPES, pools

VERSION, LEGACY = {b"org.apache.spark.version": b"4.3.0"}, {b"org.apache.spark.legacyDateTime": b""}
TYPES = (*PLAIN_TYPES, decimal(9, 2), decimal(38, 10))
COLUMNS = (*(Column(f"c{place}", type_) for place, type_ in enumerate(TYPES)), Column("block", LONG))
NAN, OLD = float("nan"), -200_000

# One row group each: the types of the columns, and the rows.
HARD: dict[str, tuple[Type, list[Any]]] = {
    "NaN above all": (DOUBLE, [1.0, NAN, 3.0, None]),
    "NaN alone": (DOUBLE, [NAN, NAN, None]),
    "floats of 32 bits": (FLOAT, [0.1, NAN, -0.0, 0.0]),
    "both zeros": (DOUBLE, [-0.0, 0.0, -0.0]),
    "NULL alone": (LONG, [None, None]),
    "NULL among equal values": (LONG, [7, None, 7, 8]),
    "no text": (STRING, [b"\xff", b"a"]),
    "texts by their bytes": (STRING, ["\ue000".encode(), "\U00010000".encode(), b"z", None]),
    "long texts": (STRING, [b"a" * 300 + b"b", ("ö" * 200).encode(), b"\xf4\x8f\xbf\xbf" * 80]),
    "long bytes": (BINARY, [b"\x00" * 300, b"\xfe" + b"\xff" * 300]),
    "old dates": (DATE, [OLD, 5, None]),
    "narrow integers": (SHORT, [-(1 << 15), (1 << 15) - 1, None]),
}
ROWS = 4
# Instants in microseconds that Spark writes as INT96, in a row group for each list. Arrow's microseconds of
# the last one overflow, and look like an instant of the year 2000.
DAY_US = 86_400_000_000
INT96 = (
    ["0L", "-1L", "1600000000123457L", "cast(null as bigint)"],
    [f"{-2_208_988_800_000_000 + DAY_US}L", "253402300799999999L"],
    ["-70000000000000000L", "5L"],
    [f"{950_000_000_000_000 - 2_150_292_900_208_967_680 - 18_446_744_073_709_551}L"],
)
INT96_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


def hard_block(block: int, keys: dict[bytes, bytes]) -> pa.Table:
    """Return one row group with a column for each hard case."""
    columns = [Column(f"c{place}", type_) for place, (type_, _) in enumerate(HARD.values())]
    cells = [values + [None] * (ROWS - len(values)) for _, values in HARD.values()]
    rows = [(*row, block) for row in zip(*cells, strict=True)]
    return to_arrow([*columns, Column("block", LONG)], rows).replace_schema_metadata(keys)


def answers(spark: Any, paths: Sequence[Path], types: dict[str, Type]) -> dict[int, dict[str, Any]]:
    """Return what Spark computes of each block, by the number in its column `block`; in one query."""
    parts = ["`block`"]
    for name, type_ in types.items():
        value = f"if(isnan(`{name}`), null, `{name}`)" if type_.floating else f"`{name}`"
        nans = f"count_if(isnan(`{name}`))" if type_.floating else "cast(null as bigint)"
        parts += [
            f"count_if(`{name}` is null) as `{name} null_count`",
            f"{nans} as `{name} nan_count`",
            f"count(distinct {value}) as `{name} {DISTINCT}`",
            *(f"{side}({value}) as `{name} {side}`" for side in ("min", "max")),
        ]
    spark.read.parquet(*map(str, paths)).createOrReplaceTempView("measured_lake")
    batches = spark.sql(f"select {', '.join(parts)} from measured_lake group by `block`")._collect_as_arrow()
    table = pa.Table.from_batches(batches)
    columns = {field.name: comparable(table[field.name]) for field in table.schema}
    return {
        block: {name: columns[name][row] for name in columns} for row, block in enumerate(columns["block"])
    }


def comparable(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return values so that Python compares them as Spark does."""
    type_ = column.type
    if pa.types.is_string(type_):
        column = column.cast(pa.binary())
    elif pa.types.is_timestamp(type_):
        column = column.cast(pa.int64())
    elif pa.types.is_date(type_):
        column = column.cast(pa.int32())
    return list(column.to_pylist())


def contradictions(expected: dict[int, dict[str, Any]], paths: Iterable[Path]) -> tuple[list[str], int, int]:
    """Measure files; return the statistics that Spark contradicts, and the numbers measured and unknown."""
    outcome = measure_files(map(str, paths), columns=None)
    assert not outcome.failures
    wrong: list[str] = []
    measured = unknown = 0
    for shard in outcome.shards:
        columns = shard.table["columns"].combine_chunks()
        lanes = {name: columns.field(name) for name in columns.type.names}
        for name in column_types(shard.table).keys() - {"block"}:
            facts = {field.name: comparable(lanes[name].field(field.name)) for field in lanes[name].type}
            blocks = comparable(lanes["block"].field("min"))
            for row, block in enumerate(blocks):
                if facts[DISTINCT][row] is None:
                    unknown += 1
                    continue
                measured += 1
                right = {part: expected[block][f"{name} {part}"] for part in facts if "exact" not in part}
                wrong += [f"{block} {name} {part}" for part in right if not agrees(facts, row, part, right)]
    return wrong, measured, unknown


def agrees(facts: dict[str, list[Any]], row: int, part: str, right: dict[str, Any]) -> bool:
    """Tell whether a measured statistic is the right one, or a bound that does not claim to be exact."""
    value, true_value = facts[part][row], right[part]
    exact = facts.get(f"{part}_exact", [None] * (row + 1))[row]
    if part not in ("min", "max") or true_value is None or exact:
        return bool(value == true_value)
    assert isinstance(true_value, bytes), "only bytes are shortened"
    if part == "min":
        return bool(value < true_value)
    return value is None or bool(value > true_value)


@examples(0.07)
@given(st.data())
def test_what_is_measured_is_what_spark_computes(spark: Any, data: st.DataObject) -> None:
    """MEASURED-1. For values of every type, in files of both calendars, with and without dictionaries."""
    chosen = [data.draw(pools(type_, malformed_utf8=True)) for type_ in TYPES]
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))
    blocks = []
    for block, size in enumerate(sizes):
        cells = [
            data.draw(st.lists(st.sampled_from((None, *pool)), min_size=size, max_size=size))
            for pool in chosen
        ]
        rows: list[Row] = [(*row, block) for row in zip(*cells, strict=True)]
        keys = VERSION | (LEGACY if data.draw(st.booleans()) else {})
        blocks.append(to_arrow(COLUMNS, rows).replace_schema_metadata(keys))
    with TemporaryDirectory() as directory:
        paths = write_blocks(
            blocks,
            Path(directory),
            blocks_per_file=1,
            statistics=data.draw(st.booleans()),
            dictionary=data.draw(st.booleans()),
        )
        wrong, _, _ = contradictions(answers(spark, paths, {c.name: c.type for c in COLUMNS}), paths)
        assert wrong == []


@pytest.fixture(scope="module")
def hard_lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], dict[int, Any]]:
    """Files of hard cases, and what Spark computes of them.

    One is of Spark's calendar and one of the hybrid one; Spark has written the others, of instants in INT96.
    """
    root = tmp_path_factory.mktemp("hard")
    paths: list[Path] = []
    for block, keys in enumerate((VERSION, VERSION | LEGACY)):
        (root / f"{block}").mkdir()
        paths += write_blocks([hard_block(block, keys)], root / f"{block}")
    expected = answers(spark, paths, {f"c{place}": type_ for place, (type_, _) in enumerate(HARD.values())})
    rows = ", ".join(f"({us}, {10 + block})" for block, group in enumerate(INT96) for us in group)
    with settings(spark, INT96_SETTINGS):
        spark.sql(
            "select timestamp_micros(us) as i, cast(block as bigint) as block, block as directory "
            f"from values {rows} as v(us, block)"
        ).repartition(1).write.partitionBy("directory").parquet(str(root / "int96"))
    instants = sorted(root.glob("int96/*/*.parquet"))
    return [*paths, *instants], expected | answers(spark, instants, {"i": TIMESTAMP})


def test_hard_cases_are_measured_right_or_not_at_all(hard_lake: tuple[list[Path], dict[int, Any]]) -> None:
    """Unknown are a text that is no text, old dates in the hybrid calendar, and the old instants."""
    paths, expected = hard_lake
    wrong, measured, unknown = contradictions(expected, paths)
    assert wrong == []
    assert (measured, unknown) == (2 * len(HARD) + len(INT96) - 5, 5)


@pytest.mark.parametrize("name", MUTANTS)
def test_spark_contradicts_each_mutant(
    hard_lake: tuple[list[Path], dict[int, Any]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the property could hold because hard cases do not occur."""
    monkeypatch.setattr(*MUTANTS[name])
    paths, expected = hard_lake
    assert contradictions(expected, paths)[0] != []
