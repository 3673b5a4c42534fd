"""Tables and settings of joins by ranges."""

from pathlib import Path

import pytest
from ranged import write_lake

from pruning.techniques.join.range_cuts import RangePlan

# Small tables are too large to be broadcast, and opening a file costs nothing.
SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "1400",
    "spark.sql.files.openCostInBytes": "1",
}


@pytest.fixture(scope="module")
def small_broadcasts(spark):
    """Settings by which small tables are shuffled."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="session")
def ranged_files(tmp_path_factory) -> Path:
    """The folder of the tables that `write_lake` writes."""
    root = tmp_path_factory.mktemp("ranged")
    write_lake(root)
    return root


@pytest.fixture(scope="module")
def lake(spark, small_broadcasts, ranged_files) -> Path:
    """The same folder, with a view of each table."""
    for path in ranged_files.iterdir():
        spark.read.parquet(str(path)).createOrReplaceTempView(f"ranged_{path.name}")
    return ranged_files


@pytest.fixture
def no_cost(monkeypatch):
    """Ranges always pay."""
    monkeypatch.setattr(RangePlan, "pays", lambda self, open_bytes: True)
