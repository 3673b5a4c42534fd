"""Tables on disk that the tests of Spark's side read."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS, FILES, GROUP = 3000, 6, 100


@pytest.fixture(scope="session")
def flights(spark, tmp_path_factory):
    """A directory of six sorted files of five row groups each."""
    directory = tmp_path_factory.mktemp("lake") / "sorted flights 100%"
    directory.mkdir()
    step = ROWS // FILES
    for number in range(FILES):
        pq.write_table(
            table(range(number * step, (number + 1) * step)),
            directory / f"{number}.parquet",
            row_group_size=GROUP,
        )
    return str(directory)


@pytest.fixture
def ansi(spark):
    """ANSI mode, which is off in Spark 3.5 unless it is asked for."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    yield
    spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.fixture(scope="session")
def shuffled(spark, tmp_path_factory):
    """The same rows in an order that no range tells apart."""
    directory = tmp_path_factory.mktemp("shuffled")
    for number in range(FILES):
        pq.write_table(
            table(range(number, ROWS, FILES)), directory / f"{number}.parquet", row_group_size=GROUP
        )
    return str(directory)


def table(ids) -> pa.Table:
    day = datetime.date(2013, 1, 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "day": [day + datetime.timedelta(days=i // 10) for i in ids],
            "delay": pa.array([None if i % 7 == 0 else (i * 37) % 500 for i in ids], pa.int64()),
            "altitude": [i * 1.5 for i in ids],
            "unit": ["feet" if i % 2 else "meters" for i in ids],
            "name": [f"name {i:05d}" for i in ids],
        }
    )


@pytest.fixture(scope="session")
def partitioned(spark, tmp_path_factory):
    """Partitions of an int, of a string with characters that paths escape, and of a date; NULLs in each."""
    directory = str(tmp_path_factory.mktemp("hive") / "t")
    rows = [
        (i, year, text, day)
        for i, (year, text, day) in enumerate(
            (year, text, day)
            for year in (2013, -5, None)
            for text in ("a/b c%=é", "x:'y'", "12", None)
            for day in (datetime.date(2013, 1, 31), None)
            for _ in range(5)
        )
    ]
    frame = spark.createDataFrame(rows, "id int, year int, text string, day date").coalesce(1)
    frame.write.partitionBy("year", "text", "day").parquet(directory)
    return directory
