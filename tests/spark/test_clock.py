"""Conditions on the present: a pruned query answers them when it runs, and leaves old files out."""

import datetime
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.spark.catalyst import clock

DAYS = (-400, -30, -9, -1, 1, 30)  # of each file, from today


@pytest.fixture(scope="module")
def events(spark, tmp_path_factory):
    """One file a day, with the day as a date, as a timestamp and as a local time."""
    lake = tmp_path_factory.mktemp("events")
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    for number, days in enumerate(DAYS):
        moments = [now + datetime.timedelta(days=days, seconds=second) for second in range(3)]
        local = [moment.replace(tzinfo=None) for moment in moments]
        table = {
            "number": [number] * 3,
            "t": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "local": pa.array(local, pa.timestamp("us")),
            "day": pa.array([moment.date() for moment in moments]),
        }
        pq.write_table(pa.table(table), lake / f"{number}.parquet")
    return str(lake)


# The files that are read: those that may hold a row that satisfies the condition now or later.
CONDITIONS = {
    "t >= current_timestamp() - INTERVAL 6 DAYS": (3, 4, 5),
    "t > now() - INTERVAL 5 DAYS AND number >= 0": (3, 4, 5),
    "t + INTERVAL 6 DAYS >= current_timestamp()": (3, 4, 5),
    "t >= current_timestamp() - INTERVAL 2 MONTHS": (1, 2, 3, 4, 5),
    "t < current_timestamp()": (0, 1, 2, 3, 4, 5),
    "local >= localtimestamp() - INTERVAL 6 DAYS": (3, 4, 5),
    "day >= current_date() - 6": (3, 4, 5),
    "day >= date_sub(current_date(), 20) AND t >= current_timestamp() - INTERVAL 6 DAYS": (3, 4, 5),
    "day > current_date()": (4, 5),
    "day <= current_date()": (0, 1, 2, 3, 4, 5),
    "day > CAST('today' AS date)": (0, 1, 2, 3, 4, 5),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_on_the_present_leave_out_what_stays_too_old(spark, events, condition):
    df = spark.read.parquet(events).where(condition)
    pruned = pruning.prune(df)
    assert sorted(map(repr, pruned.collect())) == sorted(map(repr, df.collect()))
    files = {int(name.rpartition("/")[2].partition(".")[0]) for name in pruned.inputFiles()}
    # A day's margin may keep the file of the day before the bound.
    assert files - {3} <= set(CONDITIONS[condition]) - {3}
    assert files >= {number for number in CONDITIONS[condition] if number > 3}


def test_rows_that_are_due_when_the_query_runs_are_in_its_answer(spark, tmp_path):
    """Rows of the next second are not due at `prune`, and are when the query runs."""
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    pq.write_table(pa.table({"t": pa.array([soon], pa.timestamp("us", tz="UTC"))}), tmp_path / "0.parquet")
    pruned = pruning.prune(spark.read.parquet(str(tmp_path)).where("t <= current_timestamp()"))
    time.sleep(max(0, (soon - datetime.datetime.now(datetime.UTC)).total_seconds()) + 0.1)
    assert pruned.count() == 1


def test_a_present_that_is_known_too_well_loses_rows(spark, tmp_path, monkeypatch):
    """The mutant: the lower bound lies in the future, as if the query had run long ago."""
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=10)
    pq.write_table(pa.table({"t": pa.array([soon], pa.timestamp("us", tz="UTC"))}), tmp_path / "0.parquet")
    monkeypatch.setattr(clock, "_DAY_US", -86_400_000_000)
    pruned = pruning.prune(spark.read.parquet(str(tmp_path)).where("t >= current_timestamp()"))
    assert pruned.count() == 0


def test_no_part_of_a_query_that_reads_the_clock_is_run_first(spark, events):
    spark.read.parquet(events).createOrReplaceTempView("events")
    df = spark.sql("""SELECT a.number FROM events a JOIN events b ON a.number = b.number
                      WHERE b.day > current_date() AND b.number > 3""")
    assert pruning.explain(pruning.prune(df)).jobs == ()
