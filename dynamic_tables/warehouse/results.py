"""The rows and changes that pass between the backend of a warehouse and its tables."""

from dataclasses import dataclass
from typing import TypeAlias

from dynamic_tables.on_spark.frames import RowFrame
from dynamic_tables.values.changes import Contents, Delta
from dynamic_tables.values.types import Field

# Changes in a frame have the tag `DELETED`.
Rows: TypeAlias = Contents | RowFrame
Changes: TypeAlias = Delta | RowFrame


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """The rows of a query's result, with its columns."""

    fields: tuple[Field, ...]
    rows: Rows


@dataclass(frozen=True, slots=True)
class ComputedChanges:
    """The changes of a query's result, with its columns."""

    fields: tuple[Field, ...]
    changes: Changes
