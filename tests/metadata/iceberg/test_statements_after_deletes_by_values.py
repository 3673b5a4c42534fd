"""DELETE and UPDATE of Iceberg tables of which other engines have deleted rows by their values."""

from pathlib import Path
from typing import Any

import pytest
from handmade_tables import HandmadeTable, column
from version_rows import live_rows

from pruning.dml import WriteMode, delete, update
from pruning.metadata.iceberg.opening import open_iceberg_version

# What writers need of metadata beside what readers do.
WHOLE_METADATA = {
    "last-column-id": 2,
    "last-partition-id": 999,
    "last-updated-ms": 1_700_000_000_010,
    "default-spec-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "default-sort-order-id": 0,
    "refs": {"main": {"snapshot-id": 1002, "type": "branch"}},
}


def write_table(folder: Path) -> str:
    """Write a table of the ids 0 to 5 in two files, of which 1 and 4 are deleted by their values."""
    table = HandmadeTable(folder, [column(1, "id", "long"), column(2, "s", "string")])
    files = [table.data([{"id": id_, "s": "a"} for id_ in range(start, start + 3)]) for start in (0, 3)]
    table.commit(*files)
    table.commit(table.values([1], [{"id": 1}, {"id": 4}]), changes=WHOLE_METADATA)
    return str(folder)


@pytest.mark.parametrize("mode", WriteMode)
def test_rows_that_were_deleted_by_their_values_stay_deleted(
    spark: Any, tmp_path: Path, mode: WriteMode
) -> None:
    """A file that is rewritten is younger than the deletes, so that they reach none of its rows."""
    folder = write_table(tmp_path / "t")
    update(spark, folder, {"s": "'b'"}, "id IN (0, 1, 4)", mode=mode)
    delete(spark, folder, "id = 3 OR id = 4", mode=mode)
    rows = {(row["id"], row["s"]) for row in live_rows(open_iceberg_version(folder))}
    assert rows == {(0, "b"), (2, "a"), (5, "a")}


@pytest.mark.parametrize("mode", WriteMode)
def test_an_id_that_was_deleted_by_its_value_can_be_given_again(
    spark: Any, tmp_path: Path, mode: WriteMode
) -> None:
    folder = write_table(tmp_path / "t")
    update(spark, folder, {"id": "1"}, "id = 0", mode=mode)
    ids = sorted(row["id"] for row in live_rows(open_iceberg_version(folder)))
    assert ids == [1, 2, 3, 5]
