"""A lake to ask: a fact table in many files, three small tables that it refers to, and queries.

A file holds consecutive ids in one row group. Of the other columns of `fact`

- `at`, `day`, `item` and `height` follow the ids, so that few files hold any one value;
- `unit` is one word per file: each tenth file is in feet;
- `mixed` follows the ids loosely: the range of each file overlaps half of the next one's, no value twice;
- `shop`, `amount`, `quantity` and `note` are random: every file may hold every value.

Five of the items, far apart, are of the kind 'rare'.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

ROWS_PER_FILE = 5_000
FILES_PER_ITEM, FILES_PER_DAY = 4, 20
SHOPS, RARE_ITEMS = 40, 5
AMOUNT_MAX = 1_000_000
TABLES = ("fact", "items", "shops", "days")
# How many files match as a whole where some do.
WHOLE_FILES = 20
_STAR = "join items using (item) join shops using (shop) join days using (day)"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of the view `fact`.

    Attributes:
        sql: The query, without the LIMIT that `rows_max` is.
        rows_max: How many rows are wanted, in no order; None is all.
        needed: The rows that the answer is made of, as a query of the view `located` that gives `file`;
            empty is every row.
        hopeless: Whether no technique may skip anything.
    """

    name: str
    sql: str
    rows_max: int | None = None
    needed: str = ""
    hopeless: bool = False

    @property
    def text(self) -> str:
        """The text of the query for Spark."""
        return self.sql if self.rows_max is None else f"{self.sql} limit {self.rows_max}"


def alike(spark: SparkSession, query: Query, *, found: list[Any], expected: list[Any]) -> bool:
    """Tell whether the pruned answer is one that Spark may give, by an answer that it gave.

    With a LIMIT without an order, any rows are right if they are as many, and all are rows of the query
    without the LIMIT.
    """
    if query.rows_max is None:
        return Counter(map(repr, found)) == Counter(map(repr, expected))
    everything = Counter(map(repr, spark.sql(query.sql).collect()))
    return len(found) == len(expected) and Counter(map(repr, found)) <= everything


def queries(size: Size) -> list[Query]:
    """Return the queries of a lake of that size."""
    return [*_filter_queries(size), *_limit_queries(size), *_order_queries(), *_join_queries(), *_hopeless()]


def _filter_queries(size: Size) -> list[Query]:
    # No height in metres reaches this value; of the heights in feet, the last ones of the lake do.
    high = 3 * size.rows - 3 * 18 * size.rows_per_file
    point, feet = f"id = {size.rows // 3}", f"if(unit = 'feet', height * 3, height) > {high}"
    return [
        Query(name=name, sql=f"select * from fact where {where}", needed=f"from located where {where}")
        for name, where in (("a point", point), ("an IF", feet))
    ]


def _limit_queries(size: Size) -> list[Query]:
    start = size.rows // 4
    whole = f"id between {start} and {start + WHOLE_FILES * size.rows_per_file}"
    # About one row per file has an amount this low.
    cheap = f"amount < {AMOUNT_MAX // size.rows_per_file}"
    named = (("LIMIT, whole files match", whole, 1), ("LIMIT, no whole file matches", cheap, 10))
    return [
        Query(
            name=name,
            sql=f"select * from fact where {where}",
            rows_max=10,
            needed=f"from located where {where} limit {rows_needed}",
        )
        for name, where, rows_needed in named
    ]


def _order_queries() -> list[Query]:
    return [
        Query(
            name=f"top 10 by {name}",
            sql=f"select * from fact order by {column} desc limit 10",
            needed=f"from located order by {column} desc limit 10",
        )
        for name, column in (("a sorted column", "id"), ("a mixed column", "mixed"))
    ]


def _join_queries() -> list[Query]:
    rare = f"{_STAR} where kind = 'rare'"
    region = f"{rare} and region = 'region 1' and amount % 2 = 0"
    return [
        Query(
            name="a star join",
            sql=f"select region, weekend, count(*), sum(amount) from fact {rare} group by region, weekend",
            needed=f"from located {rare}",
        ),
        Query(
            name="a star join's top 10",
            sql=f"select id, amount, weekend from fact {region} order by id desc limit 10",
            needed=f"from located {region} order by id desc limit 10",
        ),
    ]


def _hopeless() -> list[Query]:
    named = (
        (
            "a filter on random values",
            f"select count(*), sum(id) from fact where amount < {AMOUNT_MAX // 10}",
        ),
        ("an aggregate of everything", "select unit, count(*), sum(amount) from fact group by unit"),
        (
            "a full join",
            "select kind, count(*), sum(amount) from fact full join items on fact.item = items.item "
            "group by kind",
        ),
    )
    return [Query(name=name, sql=sql, hopeless=True) for name, sql in named]
