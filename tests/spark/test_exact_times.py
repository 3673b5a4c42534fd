"""The dates and instants that Spark pushes as they are: Spark's own conversions are asked, zone by zone."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import pruning
from pruning.expressions import types
from pruning.pushed.exact_times import is_exact, with_exact_ends
from pruning.pushed.value_ranges import closed_ranges
from pruning.rules.sets import cuts

ZONES = ("UTC", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati", "Asia/Manila", "America/New_York")
EPOCH = date(1970, 1, 1)
DAYS = [
    (day - EPOCH).days + later
    for day in (
        *(date(1582, 10, 5) + timedelta(later) for later in range(10)),
        *(date(1582, 2, 28), date(1500, 2, 28), date(1844, 12, 31), date(1, 1, 2)),
        *(date(1993, 8, 21), date(1994, 12, 31), date(2011, 12, 30), date(9999, 12, 30)),
    )
    for later in (-1, 0, 1)
]
INSTANTS_US = [
    (instant - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    for instant in (
        *(datetime(1582, 10, day, 12) for day in (4, 5, 9, 14, 15)),
        *(datetime(year, 1, 1) for year in (1700, 1883, 1899)),
        *(datetime(1900, 1, 1, 23), datetime(1900, 1, 2), datetime(1972, 5, 1, 0, 44, 30)),
        *(datetime(1993, 8, 21, 12), datetime(2011, 12, 30, 12), datetime(2024, 2, 29, 1, 2, 3)),
    )
]


@pytest.fixture
def conversions(spark: Any) -> Iterator[Any]:
    """Spark's conversions of dates and instants; the process has its time zone again afterwards."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    yield spark._jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils
    zones.setDefault(before)


def test_what_is_exact_is_exact_in_each_zone(spark: Any, conversions: Any) -> None:
    """And of each day that lacks, Spark asks for another one in some zone."""
    zones, moved = spark._jvm.java.util.TimeZone, set[int]()
    for zone in ZONES:
        zones.setDefault(zones.getTimeZone(zone))
        for day in DAYS:
            pushed_value = conversions.fromJavaDate(conversions.toJavaDate(day))
            assert pushed_value == day or not is_exact(day, types.DATE), (zone, day)
            # An upper end that moves is only wider.
            assert pushed_value >= day
            if pushed_value != day:
                moved.add(day)
        for instant in INSTANTS_US:
            pushed_value = conversions.fromJavaTimestamp(conversions.toJavaTimestamp(instant))
            assert pushed_value == instant or not is_exact(instant, types.TIMESTAMP), (zone, instant)
    assert moved == {day for day in DAYS if not is_exact(day, types.DATE)}


@pytest.mark.parametrize(
    ("day", "lower", "upper"),
    [
        (date(1582, 10, 5), date(1582, 10, 4), date(1582, 10, 15)),
        (date(1582, 10, 14), date(1582, 10, 4), date(1582, 10, 15)),
        (date(2011, 12, 30), date(2011, 12, 29), date(2011, 12, 31)),
        (date(2011, 12, 31), date(2011, 12, 31), date(2011, 12, 31)),
    ],
)
def test_ends_that_lack_become_the_days_around(day: date, lower: date, upper: date) -> None:
    place = (day - EPOCH).days
    widened = with_exact_ends(cuts.between(place, place, types.DATE), types.DATE)
    assert closed_ranges(widened, types.DATE) == [((lower - EPOCH).days, (upper - EPOCH).days, False)]


def test_no_row_is_lost_by_a_range_that_ends_in_days_that_lack(spark: Any, tmp_path: Path) -> None:
    """Spark alone keeps the rows of an IF, and loses those of the plain comparison."""
    rows = spark.range(0, 2_000, 1, 1).selectExpr("date_add(date'1582-10-01', int(id / 50)) AS d", "id")
    rows.write.option("parquet.block.size", 2_000).parquet(str(tmp_path / "t"))
    table = spark.read.parquet(str(tmp_path / "t"))
    within = "BETWEEN date'1582-10-07' AND date'1582-10-09'"
    query = table.where(f"IF(d > date'1582-10-06', d, date'1582-10-06') {within}")
    (scan,) = pruning.explain(query).scans
    assert scan.range_filters == ("`d` >= DATE'1582-10-04' AND `d` <= DATE'1582-10-15'",)
    assert pruning.prune(query).count() == pruning.prune(table.where(f"d {within}")).count() == 150


def test_instants_of_old_clocks_have_no_end_before_1900() -> None:
    old, new = INSTANTS_US[0], INSTANTS_US[-1]
    widened = with_exact_ends(cuts.between(old, new, types.TIMESTAMP), types.TIMESTAMP)
    assert closed_ranges(widened, types.TIMESTAMP) == [(None, new, False)]
