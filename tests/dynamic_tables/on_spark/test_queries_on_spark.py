"""Queries in SQL give on Spark what the backend in Python gives: rows, row ids and changes."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from maintaining import TABLES, query, whole

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.on_spark.few_changes import FrameSource
from dynamic_tables.on_spark.frames import changes_frame, contents_of, delta_of, frame_of
from dynamic_tables.on_spark.spark_backend import SparkBackend, exact_settings
from dynamic_tables.storage.netting import difference
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Contents, Delta
from strategies.dynamic.contents import IntervalChanges

BEFORE: Mapping[str, Contents] = {
    "n": {"1": (1, 5, "b"), "2": (1, 7, "a"), "3": (2, None, None), "4": (None, 7, "c"), "5": (1, 7, "A")},
    "f": {"1": (1, 0.25), "2": (1, -0.0), "3": (2, None), "4": (1, float("nan"))},
    "d": {"1": (1, Decimal("0.10")), "2": (1, Decimal("2.25")), "3": (2, Decimal("-7.01"))},
    "m": {
        "1": (datetime(2024, 12, 30, 1, 2, 3), date(2024, 2, 29), True),
        "2": (None, date(2021, 1, 3), None),
        "3": (datetime(1969, 12, 31, 23), None, False),
    },
    "e": {
        "1": (1, (1, (2.5, None)), {"a": {"b": (1, 2)}, "c d": "x"}),
        "2": (2, None, (True, {"k": Decimal("1.5")})),
        "3": (3, (), {}),
    },
}
AFTER: Mapping[str, Contents] = {
    "n": {"2": (1, 8, "a"), "3": (2, None, None), "6": (2, 3, "z"), "4": (None, 7, "c")},
    "f": {"1": (1, 0.25), "5": (2, 1e300)},
    "d": {"1": (1, Decimal("0.10")), "4": (2, Decimal("3.00"))},
    "m": {"2": (datetime(2021, 1, 3), date(2021, 1, 3), None), "3": (datetime(1969, 12, 31, 23), None, True)},
    "e": {"1": (1, ((2.5, None),), {"a": {"b": (2,)}}), "3": (3, (0,), {"z": None})},
}
QUERIES = (
    "SELECT k, median(n) a, stddev(n) b, var_pop(n) c, boolor_agg(n > 5) d, booland_agg(n > 5) e, "
    "boolxor_agg(n > 5) f, max_by(unused, n) g, min_by(n, unused) h, "
    "listagg(unused, ',') WITHIN GROUP (ORDER BY n DESC) i, median(DISTINCT n) j FROM n GROUP BY k",
    "SELECT k, median(f) a, stddev_pop(f) b, max_by(k, f) c, min_by(f, k) d FROM f GROUP BY k",
    "SELECT k, median(d) a, variance(d) b, max_by(d, d) c, listagg(d) d FROM d GROUP BY k",
    "SELECT max_by(payload, k) a, min_by(items, k) b FROM e GROUP BY k % 2",
    "SELECT extract(week FROM at) a, dayofweek(day) b, date_trunc('quarter', at) c, to_date(at) d, "
    "date_part(epoch_second, at) e, try_cast(day::text AS VARCHAR(3)) f FROM m",
    "SELECT n, ntile(2) OVER w a, percent_rank() OVER w b, cume_dist() OVER w c, listagg(unused) OVER w e, "
    "sum(n) OVER (w RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) d "
    "FROM n WINDOW w AS (PARTITION BY k ORDER BY n)",
    "SELECT count(*) OVER (PARTITION BY flag ORDER BY at RANGE INTERVAL '1 day' PRECEDING) a FROM m",
    "SELECT k, unused, count(*) c, grouping(k) g FROM n GROUP BY GROUPING SETS ((k, unused), k, unused)",
    "SELECT k, sum(n) s FROM n GROUP BY ROLLUP (k)",
    "SELECT v.name, n.n FROM (VALUES (1, 'one', 1.50), (NULL, 'none', 2)) v (k, name, d) "
    "LEFT JOIN n ON v.k = n.k",
    "SELECT k, n FROM n UNION SELECT * FROM VALUES (1, 5), (9, NULL)",
    "SELECT k, f.path, f.this, f.value FROM e, LATERAL FLATTEN(payload, recursive => true, outer => true) f",
    "SELECT k, f.path, f.this FROM e, LATERAL FLATTEN(input => payload, path => 'a.b', outer => true) f",
)


def exact(contents: Contents) -> dict[str, Any]:
    """Rows by their ids, as nothing can tell them apart."""
    return {row_id: exact_key(row) for row_id, row in contents.items()}


def exact_changes(delta: Delta) -> set[Any]:
    """Changes as nothing can tell them apart."""
    return {(change.action, change.row_id, exact_key(change.row)) for change in delta}


def types_of(table: str) -> list[Any]:
    """The types of the columns of a table."""
    return [field.type for field in TABLES[table].fields]


@pytest.mark.parametrize("text", QUERIES)
def test_queries_give_the_same_rows_and_changes(spark: Any, text: str) -> None:
    """LOWER-1, of what no strategy draws."""
    bound_query: Query = query(text)
    before, after = whole(BEFORE), whole(AFTER)
    with exact_settings(spark):
        sources = {}
        for name, table in TABLES.items():
            if table.identity in bound_query.sources:
                types, delta = types_of(name), difference(before[table.identity], after[table.identity])
                sources[table.identity] = FrameSource(
                    frame_of(spark, before[table.identity], types),
                    frame_of(spark, after[table.identity], types),
                    changes_frame(spark, delta, types),
                )
        backend = SparkBackend(spark)
        full = contents_of(backend.full(bound_query, {name: part.before for name, part in sources.items()}))
        changes = delta_of(backend.changes(bound_query, sources)) if bound_query.incremental else ()
    assert exact(full) == exact(BagBackend().full(bound_query, before))
    if bound_query.incremental:
        intervals = {
            name: IntervalChanges(before[name], after[name], difference(before[name], after[name]))
            for name in sources
        }
        assert exact_changes(changes) == exact_changes(BagBackend().changes(bound_query, intervals))
