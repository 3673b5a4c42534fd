"""`plan_delete`, `plan_update` and `plan_merge` over files, against Spark's own count of the rows."""

import json

import pyarrow as pa
import pytest

import pruning
from pruning.dml import Fate, MergeClause, Then, When, plan_delete, plan_merge, plan_update
from pruning.errors import InputError

# What may raise, and so must be read, depends on it.
pytestmark = pytest.mark.usefixtures("ansi")

UPSERT = [
    MergeClause(when=When.MATCHED, then=Then.UPDATE),
    MergeClause(when=When.NOT_MATCHED, then=Then.INSERT),
]
SYNC = [*UPSERT, MergeClause(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE)]


def fates(plan):
    """How many files are untouched, deleted, rewritten."""
    return tuple(len(plan.files_of(fate)) for fate in Fate)


#          predicate                                       files untouched, deleted, rewritten
DELETES = {
    "id < 500": (5, 1, 0),
    "id < 550": (4, 1, 1),
    "id < 100": (5, 0, 1),
    "id >= 0": (0, 6, 0),
    "1 = 0": (6, 0, 0),
    "delay IS NULL": (0, 0, 6),
    "id + 1 <= 500": (5, 0, 1),
    "CAST(id AS BIGINT) < 500": (5, 1, 0),
}


@pytest.mark.parametrize("predicate", DELETES)
def test_delete_drops_the_files_whose_every_row_goes(spark, flights, predicate):
    assert fates(plan_delete(predicate, flights)) == DELETES[predicate]


def test_rows_that_are_not_read_are_those_that_spark_deletes_or_keeps(spark, flights):
    plan = plan_delete("id BETWEEN 450 AND 1234", flights)
    groups = plan.row_groups.to_pylist()
    dropped = sum(group["row_count"] for group in groups if group["fate"] == "deleted")
    kept = sum(group["row_count"] for group in groups if group["fate"] == "untouched")
    count = spark.read.parquet(flights).where("id BETWEEN 450 AND 1234").count()

    assert (dropped, kept) == (700, 2100)
    assert dropped <= count == 785
    assert plan.blocks.unread_totals.rows == dropped + kept


def test_a_condition_that_may_raise_drops_no_file_unread(spark, flights):
    """Every row satisfies it on which it does not raise."""
    assert fates(plan_delete("CAST(id AS TINYINT) <= 127", flights))[1] == 0
    assert fates(plan_delete("CAST(name AS INT) IS NOT NULL", flights))[1] == 0


def test_update_rewrites_what_delete_drops(spark, flights):
    plan = plan_update("id < 550", flights)
    assert fates(plan) == (4, 0, 2)
    assert plan.blocks.whole.tolist() == [True] * 5 + [False] * 25
    assert plan.row_groups["fate"].to_pylist().count("untouched") == 24


def test_merge_reads_only_files_that_may_hold_a_key(spark, flights):
    plan = plan_merge(flights, UPSERT, keys={"id": [3, 1201, None, 10**12]})
    assert fates(plan) == (4, 0, 2)
    assert len(plan.blocks.read_blocks) == 2
    assert plan_merge(flights, UPSERT, keys={"id": []}).blocks.unread_totals.rows == 3000


def test_merge_takes_keys_as_a_table_and_as_a_dataframe(spark, flights):
    table = pa.table({"id": pa.array([3, 3, 1201], pa.int64())})
    frame = spark.createDataFrame([(3,), (3,), (1201,)], "id bigint")
    empty = frame.where("id < 0")

    assert fates(plan_merge(flights, UPSERT, keys=table)) == (4, 0, 2)
    assert fates(plan_merge(flights, UPSERT, keys=frame)) == (4, 0, 2)
    assert fates(plan_merge(flights, UPSERT, keys=empty)) == (6, 0, 0)


def test_merge_takes_what_on_asks_of_the_target_into_account(spark, flights):
    plan = plan_merge(flights, UPSERT, keys={"id": [3, 1201]}, on="day < '2013-02-01'")
    assert fates(plan) == (5, 0, 1)


def test_rows_without_partner_are_touched_where_the_keys_exclude_a_match(spark, flights):
    plan = plan_merge(flights, SYNC, keys={"id": [3, 1201]})
    assert fates(plan) == (0, 4, 2)
    assert plan.blocks.joined.sum() == 2
    assert fates(plan_merge(flights, SYNC, keys={"id": [3, 1201]}, on_more=True)) == (0, 0, 6)


def test_a_clause_changes_only_files_that_its_condition_leaves_open(spark, flights):
    archived = MergeClause(when=When.MATCHED, then=Then.DELETE, condition="id < 500")
    assert fates(plan_merge(flights, [archived])) == (5, 0, 1)
    more = MergeClause(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE, condition="id < 500", more=True)
    assert fates(plan_merge(flights, [more], keys={"id": []})) == (5, 0, 1)


def test_blocks_that_only_the_join_needs_are_read_and_not_written(spark, flights):
    insert = [MergeClause(when=When.NOT_MATCHED, then=Then.INSERT)]
    plan = plan_merge(flights, insert, keys={"id": [3, 1201]})
    assert fates(plan) == (6, 0, 0)
    assert "2 row groups are read only for the join" in str(plan)


def test_metadata_stands_for_the_paths_it_was_collected_from(spark, flights):
    assert str(plan_delete("id < 550", pruning.collect(flights))) == str(plan_delete("id < 550", flights))


def test_a_plan_can_be_read_and_sent(spark, flights):
    plan = plan_delete("id < 550", flights)
    assert str(plan).splitlines()[0] == "DELETE over 6 files, 30 row groups"
    assert "deleted    1 files; 5 row groups, 500 rows" in str(plan)
    sent = json.loads(json.dumps(plan.to_dict()))
    assert [len(sent["files"][name]) for name in ("untouched", "deleted", "rewritten")] == [4, 1, 1]
    assert len(sent["row_groups"]) == 5
    assert sent["totals"]["rewritten"]["rows"] == 100
    assert sent["not_read"]["row_groups"] == 29


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": {"nowhere": [1]}}, "'nowhere' is no column"),
        ({"keys": {"id": ["x"]}}, "key `id`"),
        ({"keys": 3}, "The keys are a int"),
        ({"on": "nowhere < 3"}, "names the column"),
        ({"on": "rand() < 0.5"}, "not deterministic"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(spark, flights, arguments, message):
    with pytest.raises(InputError, match=message) as refusal:
        plan_merge(flights, UPSERT, **arguments)
    assert "\n" not in str(refusal.value)
