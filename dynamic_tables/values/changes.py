"""Contents of tables and the changes between them, which differentiation makes and merging applies."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

# A cell; NULL is None. A list holds cells; a mapping is an object with text keys.
Cell: TypeAlias = (
    bool
    | int
    | float
    | Decimal
    | str
    | bytes
    | date
    | datetime
    | tuple["Cell", ...]
    | Mapping[str, "Cell"]
    | None
)
Row: TypeAlias = tuple[Cell, ...]
# What tells a row of a table from all its others, and stays its own from version to version ([D] 5.5).
RowId: TypeAlias = str
# A bag of rows: equal rows have different ids.
Contents: TypeAlias = Mapping[RowId, Row]


class Action(enum.Enum):
    """What a change does to a row ($ACTION)."""

    DELETE = "DELETE"
    INSERT = "INSERT"


@dataclass(frozen=True, slots=True)
class Change:
    """One row that goes or comes; an update is a DELETE and an INSERT of one id ([D] 5.5).

    Attributes:
        row: The columns of the table, without id and action; of a DELETE, the row as it was.
    """

    action: Action
    row_id: RowId
    row: Row


# Deletions first. Of one id there is at most one change of each action.
Delta: TypeAlias = tuple[Change, ...]
