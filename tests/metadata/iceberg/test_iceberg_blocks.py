"""ICEBERG-2: what block metadata says of a data file of Iceberg is true of its live rows."""

import json
import math
import operator
import struct
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from planned_by_iceberg import (
    DECIMAL,
    WrittenFile,
    WrittenFiles,
    facts,
    longs,
    single_value,
    texts,
    written_files,
)

from mutants.iceberg.beliefs import MUTANTS
from pruning.expressions import types
from pruning.metadata.iceberg import blocks
from pruning.metadata.iceberg.fields import IcebergField, fields_of_schema
from pruning.metadata.iceberg.planned_files import read_facts
from pruning.metadata.table.live_rows import FIELD, countable_verdicts
from pruning.rules.sets.truths import Match


def field_of(stored: str) -> IcebergField:
    schema = {"type": "struct", "fields": [{"id": 1, "name": "v", "required": False, "type": stored}]}
    return fields_of_schema(json.dumps(schema))["v"]


def metadata_of(written: WrittenFiles) -> pa.Table:
    return blocks.iceberg_blocks(read_facts(facts(written)), {"v": field_of(written.stored)})


def problem(written: WrittenFiles) -> str | None:
    """Return the first thing that block metadata says and that is not so; None if all is true."""
    metadata = metadata_of(written)
    deleted = metadata[FIELD].to_pylist() if FIELD in metadata.schema.names else [False] * len(written.files)
    rows = metadata["row_count"].to_pylist()
    columns = [block["v"] for block in bounds_as_values(metadata)]
    for file, row_count, facts_of_file, uncounted in zip(written.files, rows, columns, deleted, strict=True):
        live = file.live_rows
        if uncounted != (not all(file.alive) and not file.counted):
            return f"{file}: rows are counted, or not"
        if not uncounted and row_count != len(live):
            return f"{file}: {row_count} live rows"
        wrong = column_problem(facts_of_file, live if not uncounted else list(file.rows), live)
        if wrong is not None:
            return f"{file}: {wrong} of {facts_of_file}"
    return None


def bounds_as_values(metadata: pa.Table) -> list[dict[str, Any]]:
    """Return the columns of each block, with bounds as the rows have values."""
    blocks_of = metadata["columns"].to_pylist()
    names = ("min", "max")
    struct_ = metadata["columns"].combine_chunks().field("v")
    for name in names:
        bounds = struct_.field(name)
        if pa.types.is_date(bounds.type):
            bounds = bounds.cast(pa.int32())
        if pa.types.is_timestamp(bounds.type):
            bounds = bounds.cast(pa.int64())
        for block, bound in zip(blocks_of, bounds.to_pylist(), strict=True):
            block["v"][name] = bound
    return blocks_of


def column_problem(column: dict[str, Any], counted: list[Any], live: list[Any]) -> str | None:
    numbers = [value for value in live if value is not None and not is_nan(value)]
    if column["null_count"] not in (None, counted.count(None)):
        return "the count of NULL"
    if column["nan_count"] not in (None, sum(map(is_nan, counted))):
        return "the count of NaN"
    for name, beyond in (("min", operator.lt), ("max", operator.gt)):
        bound = column[name]
        if bound is None:
            continue
        if is_nan(bound) or any(beyond(ordered(value), ordered(bound)) for value in numbers):
            return name
        if column[f"{name}_exact"] and bound not in numbers:
            return f"{name}_exact"
    return None


def ordered(value: Any) -> Any:
    """Return a value in the order of Spark, which orders texts by their bytes."""
    return value.encode() if isinstance(value, str) else value


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@examples(4)
@given(written_files())
def test_block_metadata_of_iceberg_never_says_what_is_not_so(written: WrittenFiles) -> None:
    """ICEBERG-2. Whatever the type, the metrics, the partition and the deletes."""
    event(f"{written.stored}, {written.transform}")
    assert problem(written) is None


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_belief_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert any(problem(written) for written in KILLING)


def one(stored: str, *rows: Any, transform: str = "identity", **options: Any) -> WrittenFiles:
    file = WrittenFile(rows=rows, alive=options.pop("alive", (True,) * len(rows)), **options)
    return WrittenFiles(stored=stored, transform=transform, files=(file,))


KILLING = (
    one("string", "abc", metrics="cut"),
    one("double", 1.5, math.nan, metrics="none"),
    one("long", 1, None, alive=(True, False)),
    one("long", 1, 2, alive=(True, False), counted=False),
    one("string", "abc", transform="truncate[1]", partitioned=True, metrics="none"),
    one("string", None, None, alive=(True, False)),
    one("int", -1, transform="truncate[10]", partitioned=True, metrics="none"),
    one("long", 2**31 - 1, short=True),
    one("int", 7, alive=(False,), counted=False, partitioned=True),
    one(DECIMAL, Decimal("-0.01")),
)


def test_killing_files_are_believed_rightly() -> None:
    assert [problem(written) for written in KILLING] == [None] * len(KILLING)


#      stored       transform       rows                   min            max            null count
CASES = [
    ("long", "truncate[7]", (15, 20), 14, 20, 0),
    ("int", "truncate[10]", (-1, -10), -10, -1, 0),
    ("int", "truncate[10]", (2**31 - 1,), 2**31 - 8, 2**31 - 1, 0),
    # The partition value has wrapped around, and tells nothing but that there is a value.
    ("int", "truncate[10]", (-(2**31),), None, None, 0),
    ("string", "truncate[3]", ("ab", "ab"), "ab", "ab", 0),
    ("string", "truncate[1]", ("ab", "ac"), "a", "b", 0),
    ("date", "year", (365, 729), 365, 729, 0),
    ("date", "month", (31, 58), 31, 58, 0),
    # Early releases put times before 1970 into the next unit.
    ("date", "day", (0,), -1, 0, 0),
    ("date", "day", (-5,), -6, -5, 0),
    ("timestamptz", "hour", (3_600_000_000,), 3_600_000_000, 7_199_999_999, 0),
    ("timestamp", "day", (-1,), -172_800_000_000, -1, 0),
    (DECIMAL, "truncate[50]", (Decimal("10.60"),), Decimal("10.50"), Decimal("10.99"), 0),
    ("double", "identity", (-0.0, -0.0), -0.0, -0.0, 0),
    ("double", "identity", (math.nan,), None, None, 0),
    ("string", "truncate[1]", (None, None), None, None, 2),
]


@pytest.mark.parametrize(("stored", "transform", "rows", "lower", "upper", "nulls"), CASES)
def test_partition_values_tell_ranges_without_metrics(
    stored: str, transform: str, rows: Any, lower: Any, upper: Any, nulls: int
) -> None:
    written = one(stored, *rows, transform=transform, partitioned=True, metrics="none")
    (block,) = bounds_as_values(metadata_of(written))
    column = block["v"]
    assert (column["min"], column["max"], column["null_count"]) == (lower, upper, nulls)


def test_a_constant_of_a_file_is_attained_where_no_row_was_deleted() -> None:
    plain = one("int", 7, 7, partitioned=True)
    (whole,) = metadata_of(plain)["columns"].to_pylist()
    assert whole["v"]["min_exact"]
    file = replace(plain.files[0], alive=(True, False), counted=False)
    (cut,) = metadata_of(replace(plain, files=(file,)))["columns"].to_pylist()
    assert (cut["v"]["min"], cut["v"]["min_exact"]) == (7, False)


def facts_with(bounds: list[bytes | None], *, stored_in: list[int], mapped: bool = False) -> bytes:
    """Return facts about files of one row with these lower and upper bounds, added under schemas 0 or 1.

    Schema 0 lacks field 1.
    """
    count = len(bounds)
    values = [-1 if bound is None else 1 for bound in bounds]
    return b"".join(
        (
            struct.pack(">iqB", count, 9, mapped),
            texts([f"{place}".encode() for place in range(count)]),
            longs([1] * count) * 2,
            longs([5] * count),
            longs(stored_in),
            struct.pack(">iiiiiiii", 2, 0, 1, 2, 1, 2, 1, 2),
            struct.pack(">ii", 1, 1),
            longs(values) + longs([-1 if value < 0 else 0 for value in values]) + longs([-1] * count) * 2,
            texts(bounds) * 2,
            struct.pack(">i", 0),
        )
    )


def null_counts(answer: bytes, field: IcebergField) -> list[int | None]:
    metadata = blocks.iceberg_blocks(read_facts(answer), {"v": field})
    return [block["v"]["null_count"] for block in metadata["columns"].to_pylist()]


def test_a_field_that_was_added_later_is_null_in_the_files_before() -> None:
    """Not where a default stands for NULL, a mapping finds columns by name, or the snapshot is forgotten."""
    long = field_of("long")
    answer = facts_with([None, None, single_value(3, "long"), None], stored_in=[0, 1, 0, -1])
    assert null_counts(answer, long) == [1, None, 0, None]
    assert null_counts(answer, replace(long, has_default=True)) == [None, None, 0, None]
    mapped = facts_with([None, None], stored_in=[0, 1], mapped=True)
    assert null_counts(mapped, long) == [None, None]


BAD = [
    ("long", b"\1\2\3"),
    ("int", single_value(1, "long")),
    ("double", single_value(math.nan, "double")),
    ("string", "a\ufffd".encode()),
    ("string", b"\xff"),
    (DECIMAL, (10**9).to_bytes(5, "big")),
    ("uuid", bytes(16)),
    ("binary", b"abc"),
    ("fixed[3]", b"abc"),
]


@pytest.mark.parametrize(("stored", "bound"), BAD, ids=[f"{stored}-{len(bound)}" for stored, bound in BAD])
def test_a_bound_that_is_not_sure_is_unknown(stored: str, bound: bytes) -> None:
    answer = facts_with([bound], stored_in=[1])
    metadata = blocks.iceberg_blocks(read_facts(answer), {"v": field_of(stored)})
    (block,) = metadata["columns"].to_pylist()
    assert (block["v"]["min"], block["v"]["max"], block["v"]["null_count"]) == (None, None, 0)


def test_crossed_bounds_are_unknown() -> None:
    answer = facts_with([single_value(3, "int")], stored_in=[1])
    lower, bound, rest = answer.rpartition(single_value(3, "int"))
    crossed = lower + single_value(2, "int") + rest
    assert bound
    (block,) = blocks.iceberg_blocks(read_facts(crossed), {"v": field_of("int")})["columns"].to_pylist()
    assert (block["v"]["min"], block["v"]["max"]) == (None, None)


def test_fields_have_the_names_of_block_metadata() -> None:
    inner = {"id": 5, "name": "b", "required": False, "type": "int"}
    elements = {"type": "list", "element-id": 6, "element": "int"}
    schema = {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "a.b", "required": True, "type": "decimal(9, 2)", "initial-default": "1.00"},
            {"id": 2, "name": "`odd", "required": True, "type": "int"},
            {"id": 3, "name": "a", "required": True, "type": {"type": "struct", "fields": [inner]}},
            {"id": 4, "name": "m", "required": True, "type": elements},
            {"id": 7, "name": "t", "required": True, "type": "time"},
        ],
    }
    assert fields_of_schema(json.dumps(schema)) == {
        "a.b": IcebergField(id=1, stored="decimal(9, 2)", type=types.decimal(9, 2), has_default=True),
        "`a`.`b`": IcebergField(id=5, stored="int", type=types.INTEGER),
    }


def test_no_verdict_counts_rows_that_may_be_deleted() -> None:
    written = one("long", 1, 2, alive=(True, False), counted=False)
    metadata = metadata_of(replace(written, files=(written.files[0], one("long", 3).files[0])))
    verdicts = np.array([Match.ALL, Match.ALL], np.int8)
    assert countable_verdicts(verdicts, metadata).tolist() == [Match.SOME, Match.ALL]
    nothing = np.array([Match.NONE, Match.NONE], np.int8)
    assert countable_verdicts(nothing, metadata).tolist() == [Match.NONE, Match.NONE]
