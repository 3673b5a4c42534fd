"""Joins by ranges of two tables of Iceberg."""

import pytest

import pruning

SETTINGS = {"spark.sql.autoBroadcastJoinThreshold": "700", "spark.sql.files.openCostInBytes": "1"}


@pytest.fixture
def small_broadcasts(iceberg):
    """Settings by which small tables are shuffled."""
    before = {name: iceberg.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        iceberg.conf.set(name, value)
    yield
    for name, value in before.items():
        iceberg.conf.set(name, value)


def test_two_tables_of_iceberg_are_joined_by_ranges(iceberg, new_name, small_broadcasts):
    facts, others = new_name(), new_name()
    text = "concat_ws('-', transform(sequence(1, 60), i -> hash(id, i))) AS text"
    for name, columns in ((facts, f"id AS k, {text}"), (others, "id AS k, id * 2 AS w")):
        rows = iceberg.range(0, 60).selectExpr(*columns.split(", ", 1))
        rows.repartitionByRange(6, "k").writeTo(name).using("iceberg").create()
    df = iceberg.sql(f"SELECT f.k, f.text, o.w FROM {facts} f LEFT JOIN {others} o ON f.k = o.k AND o.k > 3")
    pruned = pruning.prune(df, runtime=False)
    assert any("ranges of keys" in note for note in pruning.explain(pruned).notes), pruning.explain(df).why()
    assert sorted(map(repr, pruned.collect())) == sorted(map(repr, df.collect()))
