"""Tables are pruned alike whatever catalog has them, because only Iceberg's own table objects are asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_catalog import rest_catalog

import pruning

FILES = 4
KINDS = {
    "hadoop": {"type": "hadoop"},
    "rest": {"type": "rest"},
    "memory": {"catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog"},
}


@pytest.fixture(params=KINDS)
def catalog(iceberg: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The name of a catalog of each kind, with a namespace `db`."""
    name = f"ice_{request.param}"
    with rest_catalog(tmp_path) as uri:
        settings = {"warehouse": str(tmp_path), **KINDS[request.param]}
        if request.param == "rest":
            settings["uri"] = uri
        iceberg.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in settings.items():
            iceberg.conf.set(f"spark.sql.catalog.{name}.{key}", value)
        iceberg.sql(f"CREATE NAMESPACE {name}.db")
        yield name


def test_a_table_of_any_catalog_is_pruned_at_each_of_its_versions(iceberg: Any, catalog: str) -> None:
    """Through deletes by position, another name of a column, and a new one."""
    table = f"{catalog}.db.t"
    properties = "'format-version' = '2', 'write.delete.mode' = 'merge-on-read'"
    iceberg.sql(f"CREATE TABLE {table} (x BIGINT, s STRING) USING iceberg TBLPROPERTIES ({properties})")
    for number in range(FILES):
        rows = iceberg.range(10 * number, 10 * number + 10).selectExpr("id AS x", "CAST(id AS STRING) AS s")
        rows.coalesce(1).writeTo(table).append()
    first = iceberg.sql(f"SELECT max_by(snapshot_id, committed_at) FROM {table}.snapshots").first()[0]
    iceberg.sql(f"DELETE FROM {table} WHERE x = 25")
    iceberg.sql(f"ALTER TABLE {table} RENAME COLUMN x TO y")
    iceberg.sql(f"ALTER TABLE {table} ADD COLUMN z INT")
    iceberg.sql(f"INSERT INTO {table} VALUES (100, '100', 1)")
    earlier = f"{table} VERSION AS OF {first}"
    cases = {
        f"SELECT y FROM {table} WHERE IF(s = '0', y, y + 1) BETWEEN 25 AND 28": [24, 26, 27],
        f"SELECT y FROM {table} WHERE z = 1": [100],
        f"SELECT x FROM {earlier} WHERE IF(s = '0', x, x + 1) BETWEEN 25 AND 28": [24, 25, 26, 27],
        f"SELECT y FROM {table} ORDER BY y LIMIT 2": [0, 1],
    }
    for query, expected in cases.items():
        pruned = pruning.prune(iceberg.sql(query))
        scan = pruning.explain(pruned).scans[0]
        assert sorted(row[0] for row in pruned.collect()) == expected, query
        assert (scan.files_kept or 0) < (scan.files_total or 0), query
