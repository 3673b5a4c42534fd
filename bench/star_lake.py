"""A lake to ask: a fact table in many files, and three small tables that it refers to.

A file holds consecutive ids in one row group. Of the other columns of `fact`

- `at`, `day`, `item` and `height` follow the ids, so that few files hold any one value;
- `unit` is one word per file: each tenth file is in feet;
- `mixed` follows the ids loosely: the range of each file overlaps half of the next one's, no value twice;
- `shop`, `amount`, `quantity` and `note` are random: every file may hold every value.

Five of the items, far apart, are of the kind 'rare'.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

ROWS_PER_FILE = 5_000
FILES_PER_ITEM, FILES_PER_DAY = 4, 20
SHOPS, RARE_ITEMS = 40, 5
AMOUNT_MAX = 1_000_000
TABLES = ("fact", "items", "shops", "days")
_START_US = 1_704_067_200_000_000  # 2024-01-01 in UTC
_SEED = 20250622


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the fact table."""

    files: int
    rows_per_file: int = ROWS_PER_FILE

    @property
    def rows(self) -> int:
        """Its rows."""
        return self.files * self.rows_per_file


def write_tables(directory: Path, size: Size) -> None:
    """Write the four tables, each into a directory of its own; the same rows each time."""
    for name in TABLES:
        (directory / name).mkdir()
    random = np.random.default_rng(_SEED)
    for number in range(size.files):
        path = directory / "fact" / f"part-{number:05}.parquet"
        pq.write_table(_fact(number, size, random), path)
    for name, table in (
        ("items", _items(size.files)),
        ("shops", _shops()),
        ("days", _days(size.files)),
    ):
        pq.write_table(table, directory / name / "part-00000.parquet")


def register(spark: SparkSession, directory: Path) -> None:
    """Make views of the tables, and `located`, which is `fact` with the file that each row is in."""
    for name in TABLES:
        spark.read.parquet(str(directory / name)).createOrReplaceTempView(name)
    located = spark.sql("select *, input_file_name() as file from fact")
    located.createOrReplaceTempView("located")


def _fact(number: int, size: Size, random: np.random.Generator) -> pa.Table:
    rows = size.rows_per_file
    ids = np.arange(number * rows, (number + 1) * rows)

    def random_integers(below: int) -> np.ndarray:
        return random.integers(0, below, rows)

    return pa.table(
        {
            "id": ids,
            "at": pa.array(_START_US + ids * 1_000_000, pa.timestamp("us", tz="UTC")),
            "day": (ids // (rows * FILES_PER_DAY)).astype(np.int32),
            "item": (ids + random_integers(rows)) // (rows * FILES_PER_ITEM),
            "shop": random_integers(SHOPS).astype(np.int32),
            "height": ids,
            "unit": pa.repeat("feet" if number % 10 == 9 else "metres", rows),
            "mixed": (number * rows + random_integers(2 * rows)) * size.rows + ids,
            "amount": random_integers(AMOUNT_MAX),
            "quantity": random_integers(100).astype(np.int32),
            "note": pa.array(random_integers(10**9)).cast(pa.string()),
        }
    )


def _items(files: int) -> pa.Table:
    count = -(-files // FILES_PER_ITEM) + 1
    rare = {(2 * place + 1) * count // (2 * RARE_ITEMS) for place in range(RARE_ITEMS)}
    return _dimension(
        "item", count, pa.int64(), "kind", lambda item: "rare" if item in rare else f"kind {item % 7}"
    )


def _shops() -> pa.Table:
    return _dimension("shop", SHOPS, pa.int32(), "region", lambda shop: f"region {shop % 4}")


def _days(files: int) -> pa.Table:
    count = -(-files // FILES_PER_DAY)
    return _dimension("day", count, pa.int32(), "weekend", lambda day: "yes" if day % 7 > 4 else "no")


def _dimension(key: str, count: int, type_: pa.DataType, name: str, word: Callable[[int], str]) -> pa.Table:
    return pa.table({key: pa.array(range(count), type_), name: [word(value) for value in range(count)]})
