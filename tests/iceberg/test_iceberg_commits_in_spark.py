"""Changes that are committed without Java, as Iceberg's own runtime reads them and goes on from them."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.io.pyarrow import schema_to_pyarrow

from pruning.metadata.iceberg.commits.changes import NewDataFile, TableChange
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table


class SharedTable:
    """A table of Iceberg's Hadoop catalog, which Spark and this package write in turn."""

    def __init__(self, spark: Any, name: str, partitions: str = "") -> None:
        self._spark, self.name = spark, name
        self._iceberg = spark._jvm.org.apache.iceberg.spark
        spark.sql(
            f"CREATE TABLE {name} (id BIGINT, p STRING) USING iceberg {partitions} TBLPROPERTIES "
            "('format-version'='2', 'write.delete.mode'='merge-on-read')"
        )
        location = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").first().data_type
        self.directory = location.removeprefix("file:")

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement with `{}` in the place of the table's name."""
        return [tuple(row) for row in self._spark.sql(statement.format(self.name)).collect()]

    def java(self) -> Any:
        """Return the table of Iceberg's own library."""
        return self._iceberg.Spark3Util.loadIcebergTable(self._spark._jsparkSession, self.name)

    def actions(self) -> Any:
        """Return Iceberg's maintenance of tables."""
        return self._iceberg.actions.SparkActions.get(self._spark._jsparkSession)

    def insert(self, *rows: tuple[int, str]) -> None:
        """Append rows as one file."""
        frame = self._spark.createDataFrame(list(rows), "id BIGINT, p STRING").coalesce(1)
        frame.sortWithinPartitions("id").writeTo(self.name).append()

    def open(self) -> Any:
        """Return the table as PyIceberg sees it."""
        return open_hadoop_table(self.directory)

    def files(self) -> dict[tuple[int, ...], str]:
        """Return the paths of data files by the values of `id` in them as they were written."""
        paths = [task.file.file_path for task in self.open().scan().plan_files()]
        return {
            tuple(pq.ParquetFile(path.removeprefix("file:")).read(["id"])["id"].to_pylist()): path
            for path in paths
        }

    def write(self, *rows: tuple[int, str]) -> str:
        """Write a Parquet file with the table's ids."""
        table = self.open()
        schema = schema_to_pyarrow(table.schema())
        path = f"{table.location()}/data/{uuid.uuid4()}.parquet"
        columns = [
            pa.array(list(column), field.type)
            for column, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        pq.write_table(pa.table(columns, schema=schema), path.removeprefix("file:"))
        return path

    def commit(self, **parts: Any) -> None:
        """Commit a change that read the present version."""
        table = self.open()
        read = table.current_snapshot().snapshot_id
        commit_change(
            table, TableChange(read_snapshot=read, schema_id=table.metadata.current_schema_id, **parts)
        )

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what Spark reads, sorted, after a check that PyIceberg reads the same."""
        self._spark.sql(f"REFRESH TABLE {self.name}")
        rows = self.sql("SELECT * FROM {} ORDER BY id")
        frame = self.open().scan().to_arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in frame) == rows
        return rows


@pytest.fixture
def table(iceberg: Any, new_name: Callable[[], str]) -> SharedTable:
    """A table of two files."""
    table = SharedTable(iceberg, new_name())
    table.insert((1, "a"), (2, "b"), (3, "c"))
    table.insert((4, "d"), (5, "e"))
    return table


def test_spark_reads_deleted_positions_and_deletes_more(table: SharedTable) -> None:
    files = table.files()
    table.commit(deleted_positions={files[1, 2, 3]: [0, 2], files[4, 5]: [1]})
    assert table.rows() == [(2, "b"), (4, "d")]
    table.sql("DELETE FROM {} WHERE id = 2")
    assert table.rows() == [(4, "d")]
    table.insert((6, "f"))
    table.commit(deleted_positions={files[4, 5]: [0]})
    assert table.rows() == [(6, "f")]


def test_spark_reads_replaced_files_and_their_history(table: SharedTable) -> None:
    files = table.files()
    table.commit(deleted_positions={files[1, 2, 3]: [0]})
    path = table.write((2, "B"), (3, "C"))
    table.commit(removed_files=frozenset([files[1, 2, 3]]), added_files=(NewDataFile(path=path),))
    assert table.rows() == [(2, "B"), (3, "C"), (4, "d"), (5, "e")]
    kinds = [row[0] for row in table.sql("SELECT operation FROM {}.snapshots ORDER BY committed_at")]
    assert kinds == ["append", "append", "delete", "overwrite"]
    counts = table.sql("SELECT content, sum(record_count) FROM {}.files GROUP BY content ORDER BY content")
    assert counts == [(0, 4)]
    entries = table.sql("SELECT status, sequence_number FROM {}.entries ORDER BY sequence_number, status")
    assert entries == [(2, 1), (1, 2), (2, 3), (1, 4)]
    [[summary]] = table.sql("SELECT summary FROM {}.snapshots ORDER BY committed_at DESC LIMIT 1")
    assert (summary["total-records"], summary["total-delete-files"]) == ("4", "0")


def test_spark_maintains_what_was_committed(table: SharedTable) -> None:
    """Its compaction rewrites delete files and manifests, applies deletes, and notices late ones."""
    files = table.files()
    table.commit(deleted_positions={files[1, 2, 3]: [1]})
    table.commit(deleted_positions={files[1, 2, 3]: [2], files[4, 5]: [0]})
    actions = table.actions()
    actions.rewritePositionDeletes(table.java()).option("rewrite-all", "true").execute()
    assert table.rows() == [(1, "a"), (5, "e")]
    actions.rewriteManifests(table.java()).execute()
    assert table.rows() == [(1, "a"), (5, "e")]
    table.commit(deleted_positions={files[4, 5]: [1]})
    # Spark still has the version before the last deletes, and Iceberg notices that when it commits.
    with pytest.raises(Py4JJavaError, match="found new position delete for replaced data file"):
        actions.rewriteDataFiles(table.java()).option("rewrite-all", "true").execute()
    assert table.rows() == [(1, "a")]
    actions.rewriteDataFiles(table.java()).option("rewrite-all", "true").execute()
    assert table.rows() == [(1, "a")]


def test_spark_reads_each_partition_after_the_partitioning_changed(
    iceberg: Any, new_name: Callable[[], str]
) -> None:
    table = SharedTable(iceberg, new_name(), "PARTITIONED BY (p, bucket(4, id))")
    table.insert((1, "a"), (1, "a"), (1, "a b/c%20"))
    table.java().updateSpec().removeField("id_bucket").commit()
    table.insert((2, "a"), (3, "b"))
    files = table.files()
    [odd] = [task.file.file_path for task in table.open().scan(row_filter="p = 'a b/c%20'").plan_files()]
    path = table.write((3, "b"), (30, "b"))
    table.commit(
        deleted_positions={files[1, 1]: [0], odd: [0]},
        removed_files=frozenset([files[3,]]),
        added_files=(NewDataFile(path=path, beside=files[3,]),),
    )
    assert table.rows() == [(1, "a"), (2, "a"), (3, "b"), (30, "b")]
    assert table.sql("SELECT id FROM {} WHERE p = 'b' ORDER BY id") == [(3,), (30,)]
    assert table.sql("SELECT id FROM {} WHERE p = 'a' AND id = 1") == [(1,)]
    assert Path(path.removeprefix("file:")).exists()
