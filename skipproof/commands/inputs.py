"""The inputs of the command line: tables, each a name and a Parquet path, and one query over them."""

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pruning.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Statements that Spark executes as soon as it plans them.
_COMMANDS = tuple(
    f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Command", "ParsedStatement")
)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """`NAME=PATH`: the name that the query uses, and a Parquet file, directory, glob or URI."""

    name: str
    path: str

    @classmethod
    def parse(cls, text: str) -> "NamedTable":
        """Read `NAME=PATH`.

        Raises:
            InputError: there is no `=`, the name is no identifier, or nothing is at the path.
        """
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise InputError(f"--table {text}: write it as NAME=PATH, for example flights=lake/flights.")
        if not _NAME.fullmatch(name):
            raise InputError(
                f"--table {text}: `{name}` must be letters, digits and _, not starting with a digit."
            )
        if "://" not in path and not Path(path).exists() and not glob.glob(path):
            raise InputError(f"--table {text}: there is no file or directory {path}.")
        return cls(name, path)


def query_over(spark: "SparkSession", tables: Sequence[NamedTable], sql: str) -> "DataFrame":
    """Return the query as a DataFrame; its tables become temporary views.

    Raises:
        InputError: two tables share a name, or `sql` would do anything but read.
    """
    names = [table.name.lower() for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--table {name}: the name is given twice; give each table its own.")
    for table in tables:
        spark.read.parquet(table.path).createOrReplaceTempView(table.name)
    _check_reads_only(spark, sql)
    return spark.sql(sql)


def _check_reads_only(spark: "SparkSession", sql: str) -> None:
    """Refuse commands before they are planned, because Spark runs a command as soon as it has a plan."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a classic session has a JVM"
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    if any(jvm.java.lang.Class.forName(name).isInstance(plan) for name in _COMMANDS):
        raise InputError(
            f"{sql.strip().split()[0].upper()} is not a query: only statements that read are run."
        )
