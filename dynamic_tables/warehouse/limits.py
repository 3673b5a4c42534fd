"""The numbers of rows above which Spark computes what Python computes otherwise."""

from dataclasses import dataclass

from dynamic_tables.on_spark.few_changes import ROWS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one process; tests lower them, so that Spark computes few rows.

    Attributes:
        full_rows: The most rows of all sources of a query whose whole result is computed in Python.
        read_rows: The most rows that are read in Python of a source at a moment, or of its changes.
        rows_per_change: The least number of rows for each changed one at which Spark computes changes sooner
            than the whole result: changes read their sources at both moments and join them by row id.
    """

    full_rows: int = 20_000
    read_rows: int = ROWS_MAX
    rows_per_change: int = 1_000


LIMITS = Limits()
