"""Joins by ranges, and trees of joins in which one table makes another smaller, and that one the facts."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from mutants.joins.estimates import DENSITY_MUTANTS, WIDTH_MUTANTS
from pruning.spark.drive.queries import SharedRows

FILES = 40


@pytest.fixture(scope="module")
def snowflake(spark: Any, tmp_path_factory: Any) -> None:
    """Views: facts in 40 files, sorted by `t` and `shop`, shops of cities of countries, and sessions."""
    root = tmp_path_factory.mktemp("snowflake")
    tables: dict[str, list[dict[str, list[Any]]]] = {
        "facts": [
            {
                "t": [10 * file + row for row in range(10)],
                "shop": [file // 2] * 10,
                "seller": [2 * row + file % 2 for row in range(10)],
            }
            for file in range(FILES)
        ],
        "shops": [{"shop": list(range(20)), "city": [shop // 4 for shop in range(20)]}],
        "cities": [{"city": list(range(5)), "country": [city % 3 for city in range(5)]}],
        "countries": [{"country": [0, 1, 2], "name": ["A", "B", "C"]}],
        "sessions": [{"begins": [3, 200, None], "ends": [17, 204, 9], "of": ["x", "y", "z"]}],
    }
    for name, files in tables.items():
        (root / name).mkdir()
        for number, columns in enumerate(files):
            pq.write_table(pa.table(columns), root / name / f"{number:02}.parquet")
        spark.read.parquet(str(root / name)).createOrReplaceTempView(f"snow_{name}")


def pruned_alike(spark: Any, sql: str) -> Any:
    """The report on a query whose pruned answer is the unpruned one."""
    df = spark.sql(sql)
    pruned = pruning.prune(df)
    assert sorted(map(repr, pruned.collect())) == sorted(map(repr, df.collect()))
    return pruning.explain(pruned)


def files_of_facts(report: Any) -> int:
    """The files of the facts that are read, the only table of many files."""
    (kept,) = [scan.files_kept for scan in report.scans if scan.files_total == FILES]
    return int(kept)


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("FROM snow_facts f JOIN snow_sessions s ON f.t BETWEEN s.begins AND s.ends", 3),
        ("FROM snow_facts f JOIN snow_sessions s ON f.t > s.begins AND f.t < s.ends AND s.of = 'y'", 1),
        ("FROM snow_facts f JOIN snow_sessions s ON f.t < s.ends AND s.of = 'x'", 2),
        ("FROM snow_sessions s LEFT JOIN snow_facts f ON s.begins <= f.t AND s.ends >= f.t", 3),
        ("FROM snow_sessions s LEFT JOIN snow_facts f ON f.t < s.begins - 190", 2),
    ],
    ids=["between", "open ends", "one end", "outer join", "computed end"],
)
def test_a_join_by_ranges_reads_the_files_within_them(spark, snowflake, sql, files):
    assert files_of_facts(pruned_alike(spark, f"SELECT * {sql}")) == files


def test_rows_whose_partners_are_counted_are_read(spark, snowflake):
    """Each row of the facts that has no partner is a row of the answer."""
    for kind in ("LEFT", "LEFT ANTI"):
        report = pruned_alike(
            spark,
            f"SELECT * FROM snow_facts f {kind} JOIN snow_sessions s ON f.t BETWEEN s.begins AND s.ends",
        )
        assert files_of_facts(report) == FILES


def test_ranges_are_known_by_metadata_alone(spark, snowflake):
    df = spark.sql("SELECT * FROM snow_facts f JOIN snow_sessions s ON f.t BETWEEN s.begins AND s.ends")
    report = pruning.explain(df, runtime=False)
    assert report.jobs == ()
    assert files_of_facts(report) == 21


def runs_for_unsorted_facts(spark: Any) -> bool:
    """Tell whether shops are run first for facts that are not sorted by the key."""
    sql = "FROM snow_facts f JOIN snow_shops s ON f.seller = s.shop WHERE s.city = 2"
    report = pruned_alike(spark, f"SELECT * {sql}")
    assert files_of_facts(report) == FILES
    return bool(report.jobs)


def test_a_side_is_not_run_for_facts_that_any_of_its_keys_keeps_whole(spark, snowflake, monkeypatch):
    assert not runs_for_unsorted_facts(spark)
    nothing_is_wide = WIDTH_MUTANTS["_nothing_is_wide"].wrong
    monkeypatch.setattr("pruning.spark.drive.join.run_costs.wide_blocks", nothing_is_wide)
    assert runs_for_unsorted_facts(spark)


def runs_for_each_city(spark: Any) -> bool:
    """Tell whether cities are run first, whose keys are each number from 0 to 4."""
    report = pruned_alike(spark, "SELECT * FROM snow_facts f JOIN snow_cities c ON f.shop = c.city")
    assert files_of_facts(report) == 10
    return bool(report.jobs)


def test_a_dimension_with_every_key_is_not_run_first(spark, snowflake, monkeypatch):
    """Its range tells as much."""
    assert not runs_for_each_city(spark)
    monkeypatch.setattr("pruning.spark.drive.join.run_costs.is_dense", DENSITY_MUTANTS["never"].wrong)
    assert runs_for_each_city(spark)


SHOPS = "snow_facts f JOIN snow_shops s ON f.shop = s.shop"
CITIES = f"{SHOPS} JOIN snow_cities c ON s.city = c.city"


@pytest.mark.parametrize(
    ("sql", "files", "jobs"),
    [
        (f"{CITIES} WHERE c.country = 2", 8, 2),
        (f"{CITIES} JOIN snow_countries n ON c.country = n.country WHERE n.name = 'C'", 8, 3),
        (f"{SHOPS} WHERE s.city IN (SELECT city FROM snow_cities WHERE country = 2)", 8, 2),
        ("snow_facts f JOIN (SELECT s.shop FROM snow_shops s JOIN snow_cities c ON s.city = c.city "
         "WHERE c.country = 2) x ON f.shop = x.shop", 8, 2),
        (f"{CITIES} JOIN snow_sessions i ON f.t BETWEEN i.begins AND i.ends WHERE c.country < 2", 2, 3),
    ],
    ids=["two levels", "three levels", "IN", "subquery", "beside ranges"],
)  # fmt: skip
def test_what_prunes_a_dimension_prunes_the_facts(spark, snowflake, sql, files, jobs):
    """Nothing is written about shops: their rows are few because of their city's country."""
    report = pruned_alike(spark, f"SELECT f.* FROM {sql}")
    assert files_of_facts(report) == files
    assert len(report.jobs) == jobs


def test_an_outer_join_that_keeps_dimensions_prunes_by_none_of_their_parts(spark, snowflake):
    sql = "SELECT f.* FROM snow_facts f JOIN snow_shops s USING (shop) LEFT JOIN snow_cities c USING (city)"
    assert files_of_facts(pruned_alike(spark, sql)) == FILES


OF_CITY = "SELECT f.t, s.city FROM snow_facts f JOIN snow_shops s ON f.shop = s.shop WHERE s.city = {}"


def test_a_part_that_is_written_twice_is_run_once(spark, snowflake):
    report = pruned_alike(spark, f"{OF_CITY.format(2)} UNION ALL {OF_CITY.format(2)}")
    assert len(report.jobs) == 1
    report = pruned_alike(spark, f"{OF_CITY.format(2)} UNION ALL {OF_CITY.format(3)}")
    assert len(report.jobs) == 2


def test_rows_that_are_taken_for_those_of_another_part_lose_rows(spark, snowflake, monkeypatch):
    """A mutant: any part that was run gives its rows to all others."""

    def any_rows(shared: SharedRows, plan: Any, conditions: Any) -> Any:
        return next((rows for entries in shared._by_hash.values() for *_, rows in entries), None)

    monkeypatch.setattr(SharedRows, "like", any_rows)
    df = spark.sql(f"{OF_CITY.format(2)} UNION ALL {OF_CITY.format(3)}")
    assert len(pruning.prune(df).collect()) < len(df.collect())


def test_a_key_of_both_sides_is_no_key(spark, snowflake, tmp_path):
    """The array is of one side and what its elements are compared with of the other."""
    for number in range(2):
        columns = {"xs": [[number, 10 * number]] * 3, "some": [True, False, None]}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("snow_arrays")
    on = "exists(a.xs, x -> x > c.city) = a.some"
    pruned_alike(spark, f"SELECT * FROM snow_arrays a JOIN snow_cities c ON {on}")
