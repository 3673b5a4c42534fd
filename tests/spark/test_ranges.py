"""The range filter: only where it is known to cover every row that is left, and only where it helps."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.expressions import types
from pruning.expressions.trees import And, Coalesce, Column, Compare, Comparison, IsNull, Literal, Not
from pruning.metadata.table.schema import block_schema
from pruning.spark.drive.range_filters import range_filters

A = Column("a", types.INTEGER)
PREDICATE = Compare(Comparison.LESS, Coalesce((A, Literal(0, types.INTEGER))), Literal(5, types.INTEGER))


def metadata(*blocks, type_=types.INTEGER):
    """Blocks of ten rows; each is (min, max, null_count)."""
    columns = [{"a": {"min": low, "max": high, "null_count": nulls}} for low, high, nulls in blocks]
    rows = [
        {"file": "f", "row_group": i, "row_offset": 10 * i, "row_count": 10, "columns": column}
        for i, column in enumerate(columns)
    ]
    return pa.Table.from_pylist(rows, block_schema({"a": type_}))


def filters(blocks, keep, *, predicate=PREDICATE, type_=types.INTEGER):
    found = range_filters(predicate, metadata(*blocks, type_=type_), pa.array(keep), {"a": type_})
    return [filter_.sql for filter_ in found]


#         blocks                                  keep            filter           because
CASES = [
    ([(1, 3, 0), (7, 9, 0)], [True, False], "(1, 3)"),          # the skipped block lies outside
    ([(1, 3, 0), (2, 9, 0)], [True, False], None),              # it does not: nothing is gained
    ([(1, 3, 0), (None, 9, 0)], [True, False], None),           # it may not
    ([(1, None, 0), (7, 9, 0)], [True, False], None),           # the kept block's maximum is unknown
    ([(1, 3, 0), (None, None, 4), (7, 9, 0)], [True, True, False], None),   # a kept block is unknown
    ([(1, 3, 0), (None, None, 10), (7, 9, 0)], [True, True, False], "(1, 3)"),  # only NULL needs no bounds
    ([(1, 3, 0), (None, None, None), (7, 9, 0)], [True, True, False], None),  # unknown is not "only NULL"
    ([(None, None, 10), (7, 9, 0)], [True, False], None),       # no bounds at all
    ([(1, 3, 0), (5, 6, 0), (7, 9, 0)], [True, True, False], "(1, 6)"),     # the hull of what is left
    ([(1, 3, 0), (7, 9, 0)], [True, True], None),               # nothing was skipped
    ([(1, 3, 0), (7, 9, 1)], [True, False], None),              # its NULL passes, so that it is read
    ([(1, 3, 0), (5, 5, 0), (7, 9, 0)], [True, False, True], "(1, 3) (7, 9)"),   # it lies in a gap
    ([(1, 3, 0), (3, 5, 0), (7, 9, 0)], [True, False, True], None),   # it touches a kept block
    ([(1, 3, 0), (4, 4, 0), (5, 5, 0), (9, 9, 0)], [True, True, True, False], "(1, 5)"),  # empty gaps close
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "keep", "ranges"), CASES)
def test_ranges_are_added_exactly_where_they_are_known_and_gain(blocks, keep, ranges):
    wanted = []
    if ranges is not None:
        pairs = [pair.strip("()").split(", ") for pair in ranges.split(") (")]
        inside = " OR ".join("(`a` >= {} AND `a` <= {})".format(*pair) for pair in pairs)
        wanted = [f"({inside} OR `a` IS NULL)"]
    assert filters(blocks, keep) == wanted


def test_null_is_left_out_where_the_predicate_rejects_it():
    predicate = And((Not(IsNull(A)), PREDICATE))
    assert filters(*CASES[0][:2], predicate=predicate) == ["`a` >= 1 AND `a` <= 3"]


def test_floating_columns_and_booleans_never_get_a_range():
    for type_, low, high in ((types.DOUBLE, 1.0, 7.0), (types.FLOAT, 1.0, 7.0), (types.BOOLEAN, False, True)):
        predicate = IsNull(Column("a", type_))
        assert (
            filters([(low, low, 0), (high, high, 0)], [True, False], predicate=predicate, type_=type_) == []
        )


def test_a_range_lets_spark_skip_row_groups_by_an_if_that_it_cannot_push(spark, flights):
    df = spark.read.parquet(flights).filter("IF(unit = 'feet', id + 1, id + 2) BETWEEN 250 AND 260")
    pruned = pruning.prune(df)
    assert sorted(pruned.collect()) == sorted(df.collect())
    (scan,) = pruning.explain(df).scans
    assert scan.range_filters == ("`id` >= 200 AND `id` <= 299",)
    assert (scan.blocks_kept, scan.files_kept) == (1, 1)
    assert "PushedFilters: [IsNotNull(id), GreaterThanOrEqual(id,200), LessThanOrEqual(id,299)]" in plan(
        pruned
    )


def plan(df):
    return df._jdf.queryExecution().executedPlan().toString()


def test_a_range_is_added_although_every_file_is_kept(spark, tmp_path):
    """The leaf stays the same object below the filter."""
    for number in range(2):
        ids = [*range(10), *range(100, 110)]
        pq.write_table(
            pa.table({"id": pa.array(ids, pa.int32())}), tmp_path / f"{number}.parquet", row_group_size=10
        )
    df = spark.read.parquet(str(tmp_path)).filter("IF(id % 2 = 0, id + 1, id) > 50")
    pruned = pruning.prune(df)
    assert sorted(pruned.collect()) == sorted(df.collect())
    assert len(pruned.inputFiles()) == 2
    assert "GreaterThanOrEqual(id,100)" in plan(pruned)


def test_rows_with_null_survive_the_range(spark, tmp_path):
    ids = [1, None, 3, 100, 101, 102]
    pq.write_table(pa.table({"id": pa.array(ids, pa.int32())}), tmp_path / "0.parquet", row_group_size=3)
    df = spark.read.parquet(str(tmp_path)).filter("coalesce(id, 5) < 50")
    pruned = pruning.prune(df)
    assert pruning.explain(df).scans[0].range_filters
    assert {row.id for row in pruned.collect()} == {1, None, 3}


def test_columns_that_differ_only_in_case_get_no_range(spark, tmp_path):
    """SQL could not tell them apart; the query itself names them by position."""
    tables = pa.table(
        {"id": pa.array([1, 2, 100, 101], pa.int32()), "ID": pa.array([1, 2, 3, 4], pa.int32())}
    )
    pq.write_table(tables, tmp_path / "0.parquet", row_group_size=2)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        df = spark.read.parquet(str(tmp_path)).filter("IF(ID > 0, id, 0) > 50")
        df.collect()
        assert pruning.prune(df).count() == 2
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    # Some releases cannot optimize the query any more; what they have planned before still runs.
    assert pruning.prune(df) is df
    report = pruning.explain(df)
    assert "ambiguous" in str(report) or [scan.range_filters for scan in report.scans] == [()]
    assert len(df.collect()) == 2
