"""`classify` and the plans of DML over columns that no footer bounds, and over those of directories."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.dml import plan_delete, plan_update
from pruning.errors import InputError
from pruning.metadata.footers.other_columns import merge_types, other_columns_of, struct_type

NONE, SOME, ALL = 0, 1, 2
ROWS = 10


@pytest.fixture(scope="module")
def odd_table(tmp_path_factory):
    """Two files of columns of which nothing, or not all, is known, beside an `a` from 0 to 9."""
    maps = pa.map_(pa.string(), pa.int32())
    deep = pa.struct([("x", pa.int32()), ("m", maps), ("ys", pa.list_(pa.list_(pa.int32())))])
    one = [("k", 1)]
    table = pa.table(
        {
            "a": pa.array(range(ROWS), pa.int32()),
            "m": pa.array([one] * ROWS, maps),
            "lists": pa.array([[[1], [2]]] * ROWS),
            "s": pa.array([{"x": i, "m": one, "ys": [[i]]} for i in range(ROWS)], deep),
            "nothing": pa.nulls(ROWS),
            "": pa.array([1] * ROWS),
            "`": pa.array(range(ROWS)),
            # A name of a function: without its column, a predicate means another thing.
            "user": pa.array([one] * 9 + [None], maps),
        }
    )
    directory = tmp_path_factory.mktemp("odd")
    pq.write_table(table.slice(0, 5), directory / "0.parquet")
    pq.write_table(table.slice(5), directory / "1.parquet")
    return str(directory)


#      predicate                              of each file
ODD = {
    "m['k'] = 1": [SOME, SOME],
    "a < 5 AND m['k'] = 1": [SOME, NONE],
    "a < 5 OR size(m) > 3": [ALL, SOME],
    "m IS NULL": [SOME, SOME],
    "lists[0][0] = 1": [SOME, SOME],
    "size(lists) > 1": [SOME, SOME],
    "s.x < 5": [ALL, NONE],
    "s.m['k'] = 1": [SOME, SOME],
    "s.ys IS NULL": [SOME, SOME],
    "s IS NULL": [SOME, SOME],
    "nothing IS NULL": [SOME, SOME],
    "nothing = 1": [SOME, SOME],
    "```` < 5": [SOME, SOME],
    "user IS NOT NULL": [SOME, SOME],
    "a < 5": [ALL, NONE],
}


@pytest.mark.parametrize("predicate", ODD)
def test_a_column_without_bounds_is_unknown_and_not_missing(spark, odd_table, predicate):
    for where in (odd_table, pruning.collect(odd_table), pruning.collect(odd_table, cache=False)):
        assert pruning.classify(predicate, where).to_pylist() == ODD[predicate]


@pytest.mark.parametrize("plan", [plan_delete, plan_update])
def test_plans_rewrite_what_they_know_nothing_of(spark, odd_table, plan):
    assert list(plan("m['k'] = 1", odd_table).files.values()) == ["rewritten"] * 2
    assert list(plan("a < 5 AND m['k'] = 1", odd_table).files.values()) == ["rewritten", "untouched"]


def test_what_is_not_there_is_still_refused(spark, odd_table):
    for predicate, message in (("m.k.x = 1", "cannot be used"), ("n = 1", "`user`, `lists`")):
        with pytest.raises(InputError, match=message):
            pruning.classify(predicate, odd_table)


def test_a_variant_is_unknown(spark, tmp_path):
    if int(spark.version.split(".")[0]) < 4:
        pytest.skip("Spark 4 brought variants")
    rows = "SELECT CAST(id AS INT) a, parse_json('1') v FROM range(5)"
    spark.sql(rows).coalesce(1).write.parquet(str(tmp_path / "t"))
    for predicate in ("v IS NULL", "variant_get(v, '$', 'int') = 1"):
        assert pruning.classify(predicate, str(tmp_path / "t")).to_pylist() == [SOME]
    assert pruning.classify("v IS NULL AND a > 9", str(tmp_path / "t")).to_pylist() == [NONE]


def test_files_with_other_columns_are_known_together(tmp_path):
    """Also when a cache keeps what was read of them at different times."""
    lists = pa.list_(pa.list_(pa.int32()))
    for name in ("m", "n"):
        pq.write_table(pa.table({"a": [1], name: pa.array([[]], lists)}), tmp_path / f"{name}.parquet")
        pruning.collect(tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "o.parquet")
    for _ in range(2):
        assert list(other_columns_of(pruning.collect(tmp_path).schema)) == ["m", "n"]


def test_structs_that_files_know_in_part_are_put_together():
    one, other = struct_type({"x": "integer", "v": "void"}), struct_type({"y": "string", "v": "date"})
    assert merge_types(one, other) == struct_type({"x": "integer", "v": "date", "y": "string"})
    assert merge_types("integer", other) == "integer"


@pytest.fixture(scope="module")
def hive(tmp_path_factory):
    """A lake whose partitions hide a column of the files, and whose values are escaped, negative and NULL."""
    directory = tmp_path_factory.mktemp("hive") / "a lake [0] 100%"
    number = 0
    for year in ("2013", "-5", "__HIVE_DEFAULT_PARTITION__"):
        for text in ("a%2Fb c%25=é", "x%3A'y'"):
            place = directory / f"year={year}" / f"text={text}"
            place.mkdir(parents=True)
            rows = {"id": [number, number + 1], "text": ["hidden"] * 2, "Year": [1, 1]}
            pq.write_table(pa.table(rows), place / "part.parquet")
            number += 2
    return directory


HIVE = (
    "year = 2013",
    "year IS NULL",
    "year < 0 AND id < 3",
    "year = 1",
    "text = 'hidden'",
    "text = 'a/b c%=é'",
    "text LIKE 'x:%' AND year > 2000",
    "year IN (-5, 7)",
    "typeof(year) = 'int'",
    "id < 3",
)


@pytest.mark.parametrize("predicate", HIVE)
def test_directories_give_columns_as_spark_infers_them(spark, hive, predicate):
    frame = spark.read.parquet(str(hive).replace("[", "\\[").replace("]", "\\]"))
    ids = {row.id for row in frame.where(predicate).collect()}
    held = [sum(row in ids for row in rows) for rows in _ids_of_files(hive)]
    wanted = [NONE if not count else ALL if count == 2 else SOME for count in held]
    for where in (hive, f"{hive}/", [hive]):
        assert pruning.classify(predicate, where).to_pylist() == wanted
    fates = {NONE: "untouched", SOME: "rewritten", ALL: "deleted"}
    assert list(plan_delete(predicate, hive).files.values()) == [fates[verdict] for verdict in wanted]


def test_a_path_names_no_columns_above_it(spark, hive):
    """As in Spark, which then reads the column of that name from the files."""
    assert pruning.classify("year = 1", hive / "year=2013").to_pylist() == [ALL, ALL]


def test_directories_that_do_not_agree_tell_nothing(spark, tmp_path, hive):
    """Their columns are there; what they hold, and what they hide, is not known."""
    for place in ("a=1", "b=1"):
        (tmp_path / place).mkdir()
        pq.write_table(pa.table({"id": [1], "b": [7]}), tmp_path / place / "part.parquet")
    assert pruning.classify("a = 1 AND id = 1", tmp_path).to_pylist() == [SOME, SOME]
    assert pruning.classify("b = 8", tmp_path).to_pylist() == [SOME, SOME]
    assert pruning.classify("id = 2", tmp_path).to_pylist() == [NONE, NONE]
    twice = pruning.classify("year = 2013", [hive, hive / "year=-5"]).to_pylist()
    assert twice == [SOME] * len(twice)


def test_a_file_beside_partitions_has_no_known_value(spark, tmp_path):
    (tmp_path / "a=1").mkdir()
    for place in ("a=1", "."):
        pq.write_table(pa.table({"id": [1]}), tmp_path / place / "part.parquet")
    assert pruning.classify("a = 1", tmp_path).to_pylist() == [SOME, SOME]


def _ids_of_files(directory: Path) -> list[list[int]]:
    files = pruning.collect(directory)["file"].to_pylist()
    return [pq.ParquetFile(file).read(columns=["id"])["id"].to_pylist() for file in files]
