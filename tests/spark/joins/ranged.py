"""Two tables that are clustered on several keys, and what is asked of joins of them."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import pruning
from pruning.spark.drive.report import Report

FACT_FILES, OTHER_FILES, KEYS = 6, 6, 48
START = datetime.date(2020, 1, 1)
START_TIME = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
# Of each type of keys, Arrow's type, and the key of a number.
KEY_TYPES = {
    "k": (pa.int64(), lambda n: n),
    "i": (pa.int32(), lambda n: n),
    "s": (pa.string(), lambda n: f"key {n:03}"),
    "d": (pa.date32(), lambda n: START + datetime.timedelta(days=n)),
    "c": (pa.decimal128(9, 2), lambda n: n),
    "t": (pa.timestamp("us", "UTC"), lambda n: START_TIME + datetime.timedelta(hours=n)),
}
INNER = "FROM ranged_facts f JOIN ranged_others o ON"
KINDS = ("INNER", "LEFT", "LEFT SEMI", "LEFT ANTI")


def write_file(path: Path, numbers: list[int | None], *, bounds: bool = True, **columns: list[Any]) -> None:
    """Write a file with a column for each type of keys, with or without bounds of them."""
    keys = {
        name: pa.array([None if n is None else make(n) for n in numbers], type_)
        for name, (type_, make) in KEY_TYPES.items()
    }
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({**keys, **columns}), path, write_statistics=bounds, compression="none")


def write_lake(root: Path) -> None:
    """Write facts and others by their keys: some twice, some of one table only, some NULL, keys on cuts.

    The files of the facts overlap by a key. `unmeasured` is the same, with one file without bounds, and
    `unordered` has rows as the others in an order that no range tells apart, `unbounded` without bounds.
    """
    step = KEYS // FACT_FILES
    for number in range(FACT_FILES):
        keys: list[int | None] = [key for key in range(number * step, (number + 1) * step + 1) for _ in "ab"]
        keys += [None, None] if number in (2, 5) else []
        # Long texts make a shuffle dear.
        texts = [f"{number} {n} ".ljust(400, chr(97 + (number * 7 + n) % 26)) for n in range(len(keys))]
        columns: dict[str, list[Any]] = {"v": [n % 5 for n in range(len(keys))], "text": texts}
        write_file(root / "facts" / f"{number}.parquet", keys, **columns)
        write_file(root / "unmeasured" / f"{number}.parquet", keys, bounds=number != 3, **columns)
    step = KEYS // OTHER_FILES
    for number in range(OTHER_FILES):
        keys = [key for key in range(number * step, (number + 1) * step) if key % 3]
        keys += [keys[0], None if number == 1 else keys[-1]]
        write_file(root / "others" / f"{number}.parquet", keys, w=list(range(len(keys))))
        mixed: list[int | None] = list(range(number, KEYS, OTHER_FILES))
        numbers = list(range(len(mixed)))
        write_file(root / "unordered" / f"{number}.parquet", mixed, w=numbers)
        write_file(root / "unbounded" / f"{number}.parquet", mixed, bounds=False, w=numbers)


def join(kind: str, key: str = "k", condition: str = "", columns: str = "*") -> str:
    """A join of the facts with the others."""
    return (
        f"SELECT {columns} FROM ranged_facts f {kind} JOIN ranged_others o ON f.{key} = o.{key} {condition}"
    )


def rows_of(df: DataFrame) -> list[str]:
    """The rows of a query, in an order of their own."""
    return sorted(map(repr, df.collect()))


def is_shuffled(df: DataFrame) -> bool:
    """Tell whether Spark shuffles anything by keys."""
    return "Exchange hashpartitioning" in df._jdf.queryExecution().executedPlan().toString()


def ranges_of(report: Report) -> list[str]:
    """The notes on joins that are done in ranges."""
    return [note for note in report.notes if "ranges of keys" in note]


def joined_alike(df: DataFrame) -> DataFrame:
    """The pruned query, which has a join in ranges, and the rows of the query."""
    pruned = pruning.prune(df, runtime=False)
    report = pruning.explain(pruned)
    assert ranges_of(report), report.why()
    assert rows_of(pruned) == rows_of(df)
    assert pruned.schema == df.schema
    return pruned


def reasons(report: Report) -> list[str]:
    """The reasons for which joins are not done in ranges, each with what would change that."""
    return [
        f"{decline.reason} / {decline.remedy}"
        for _, declined in report.why().scans
        for decline in declined
        if decline.technique == "ranges"
    ]


def reasons_of(spark: SparkSession, sql: str) -> list[str]:
    """The reasons of a query that stays as it is."""
    report = pruning.explain(spark.sql(sql), runtime=False)
    assert not ranges_of(report)
    return reasons(report)
