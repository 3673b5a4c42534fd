"""The queries of the lake of `star_lake`, and the rows that each answer is made from."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from star_lake import AMOUNT_MAX, Size

# How many files match as a whole where some do.
WHOLE_FILES = 20
_STAR = "join items using (item) join shops using (shop) join days using (day)"


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
