"""Versions of tables that Iceberg's own runtime writes: the rows and the schema are those that it reads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from version_rows import live_rows, problem_of_blocks

from pruning.metadata.iceberg.opening import open_iceberg_version

COLUMNS = (
    "id int, `a b` string, s struct<x: int, y: string>, l array<struct<q: int>>, m map<string, int>, "
    "d decimal(9, 2), t timestamp_ntz, f float, p string"
)
VALUES = (
    "concat('n', id), struct(id, 'y'), array(struct(id)), map('k', id), cast(id as decimal(9, 2)), "
    "timestamp_ntz'2020-01-01 00:00:00'"
)


def insert(spark: Any, name: str, start: int, late: str) -> None:
    """Insert a hundred rows; the columns after `t` differ by the state of the schema."""
    spark.sql(
        f"INSERT INTO {name} SELECT id, {VALUES}, {late} FROM "
        f"(SELECT CAST(id AS INT) AS id FROM range({start}, {start + 100}))"
    )


@pytest.mark.parametrize("format_version", [2, 3])
def test_a_version_has_what_iceberg_reads(
    iceberg: Any, new_name: Callable[[], str], format_version: int
) -> None:
    """Deletes, renamed, widened, dropped and added columns, and another partition spec."""
    name = new_name()
    iceberg.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING iceberg PARTITIONED BY (p) TBLPROPERTIES "
        f"('format-version'='{format_version}', 'write.delete.mode'='merge-on-read')"
    )
    insert(iceberg, name, 0, "1.5f, concat('p', id % 2)")
    iceberg.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    iceberg.sql(f"DELETE FROM {name} WHERE id % 10 = 5")
    java = iceberg._jvm.org.apache.iceberg.spark.Spark3Util
    table = java.loadIcebergTable(iceberg._jsparkSession, name)
    table.manageSnapshots().createTag("tagged", table.currentSnapshot().snapshotId()).commit()
    for change in ("RENAME COLUMN `a b` TO name", "ALTER COLUMN id TYPE bigint", "DROP COLUMN f"):
        iceberg.sql(f"ALTER TABLE {name} {change}")
    iceberg.sql(f"ALTER TABLE {name} ADD COLUMN f float")
    insert(iceberg, name, 100, "concat('p', id % 2), 2.5f")
    table.refresh()
    table.updateSpec().addField("d").commit()
    iceberg.sql(f"REFRESH TABLE {name}")
    insert(iceberg, name, 200, "concat('p', id % 2), 3.5f")
    iceberg.sql(f"DELETE FROM {name} WHERE id % 10 = 4")
    for version in (None, "tagged"):
        suffix = "" if version is None else f" VERSION AS OF '{version}'"
        df = iceberg.sql(f"SELECT * FROM {name}{suffix}")
        opened = open_iceberg_version(str(table.location()), version=version)
        assert json.loads(opened.schema) == df.schema.jsonValue()
        rows = [row.asDict(recursive=True) for row in df.collect()]
        assert sorted(map(str, live_rows(opened))) == sorted(map(str, rows))
        assert problem_of_blocks(opened, ("id", "p", "d", "f")) is None
        assert opened.partition_columns == ("p",)
