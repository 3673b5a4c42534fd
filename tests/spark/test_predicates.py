"""`classify`: a predicate in SQL over paths or metadata, a verdict per row group."""

import pyarrow as pa
import pytest

import pruning
from pruning.errors import InputError

NONE, SOME, ALL = 0, 1, 2

#          predicate                                       verdicts of the first file's five row groups
VERDICTS = {
    "id < 100": [ALL, NONE, NONE, NONE, NONE],
    "id < 150": [ALL, SOME, NONE, NONE, NONE],
    "1 = 0": [NONE] * 5,
    "CAST(NULL AS BOOLEAN)": [NONE] * 5,
    "true": [ALL] * 5,
    "id >= 0 OR delay > 3": [ALL] * 5,
    "id IS NULL": [NONE] * 5,
    "delay IS NULL": [SOME] * 5,
    "name LIKE 'name 000%'": [ALL, NONE, NONE, NONE, NONE],
    "day = '2013-01-01'": [SOME, NONE, NONE, NONE, NONE],
    "id IN (SELECT 1)": [SOME] * 5,
    "length(name) = 10": [SOME] * 5,
}


@pytest.mark.parametrize("predicate", VERDICTS)
def test_each_row_group_gets_what_its_footer_proves(spark, flights, predicate):
    found = pruning.classify(predicate, f"{flights}/0.parquet")
    assert found.type == pa.int8()
    assert found.to_pylist() == VERDICTS[predicate]


def test_metadata_stands_for_the_paths_it_was_collected_from(spark, flights):
    metadata = pruning.collect(flights)
    by_path, by_metadata = pruning.classify("id < 150", flights), pruning.classify("id < 150", metadata)
    assert by_path == by_metadata
    assert len(by_path) == 30


def test_a_column_that_is_not_there_is_named_beside_those_that_are(spark, flights):
    with pytest.raises(
        InputError, match=r"names the column `altitud`, but the columns are `id`, `day`, .*`name`\.$"
    ):
        pruning.classify("altitud > 3", flights)


def test_sql_that_does_not_parse_is_refused_with_sparks_first_line(spark, flights):
    with pytest.raises(
        InputError, match=r"^The predicate 'id <' cannot be used: .*PARSE_SYNTAX_ERROR"
    ) as refusal:
        pruning.classify("id <", flights)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("predicate", ["id + 1", "sum(id) > 3"])
def test_sql_that_is_no_condition_on_rows_is_refused(spark, flights, predicate):
    with pytest.raises(InputError, match="cannot be used") as refusal:
        pruning.classify(predicate, flights)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "deep",
    [
        "NOT " * 3000 + "id > 3",
        "array(" * 3000 + "id" + ")" * 3000 + " IS NULL",
        "CASE WHEN id = 1 THEN 1 ELSE (" * 600 + "id" + ") END" * 600 + " > 3",
    ],
    ids=["NOT", "array", "CASE"],
)
def test_sql_too_deep_for_spark_is_refused_in_one_sentence(spark, flights, deep):
    with pytest.raises(InputError, match="cannot be used") as refusal:
        pruning.classify(deep, flights)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 1000


def test_a_predicate_that_is_not_deterministic_is_refused(spark, flights):
    with pytest.raises(InputError, match="not deterministic"):
        pruning.classify("rand() < 0.5", flights)


def test_a_predicate_that_is_not_text_is_refused_by_its_type(spark, flights):
    with pytest.raises(InputError, match="The predicate is a int"):
        pruning.classify(3, flights)


def test_executors_classify_metadata_that_spark_holds(spark, flights, tmp_path):
    import pyarrow.parquet as pq

    metadata = pruning.collect(flights)
    pq.write_table(metadata, tmp_path / "metadata.parquet")
    frame = spark.read.parquet(str(tmp_path / "metadata.parquet")).repartition(3)
    locators = list(zip(metadata["file"].to_pylist(), metadata["row_group"].to_pylist(), strict=True))
    for predicate in ("id < 150 AND day < '2014-01-01'", "id IS NOT NULL OR unit = 'feet'", "1 = 0", "true"):
        verdicts = {
            (row.file, row.row_group): row.verdict for row in pruning.classify(predicate, frame).collect()
        }
        expected = pruning.classify(predicate, metadata).to_pylist()
        assert verdicts == dict(zip(locators, expected, strict=True))


def test_a_frame_that_is_no_block_metadata_is_refused(spark, flights):
    metadata = spark.createDataFrame(
        [("f", 0, 0, 0, 1, 1, {"x": 1})],
        "file string, row_group int, row_offset long, byte_offset long, byte_count long, row_count long, "
        "columns struct<x: int>",
    )
    with pytest.raises(InputError, match="statistics of column 'x' in the DataFrame"):
        pruning.classify("x = 1", metadata)
    with pytest.raises(InputError, match="has no column 'row_group'"):
        pruning.classify("x = 1", metadata.drop("row_group"))
    whole = spark.range(1).selectExpr("struct(id AS x) AS columns")
    with pytest.raises(InputError, match="has no column 'file'"):
        pruning.classify("x = 1", whole)
