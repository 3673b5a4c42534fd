"""A catalog of Iceberg in the session of the tests, where its runtime is installed."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from iceberg_runtime import reason_without_runtime

CATALOG = "ice"


@pytest.fixture(scope="session")
def iceberg(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session, with the catalog `ice`."""
    reason = reason_without_runtime()
    if reason:
        # The runtime is a jar for one release of Spark, and other environments have another one.
        pytest.skip(reason)
    spark = request.getfixturevalue("spark")
    settings = {
        f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{CATALOG}.type": "hadoop",
        f"spark.sql.catalog.{CATALOG}.warehouse": str(tmp_path_factory.mktemp("iceberg")),
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture(scope="session")
def new_name() -> Callable[[], str]:
    """A function that gives a name that no table has yet."""
    numbers = count()
    return lambda: f"{CATALOG}.db.t{next(numbers)}"
