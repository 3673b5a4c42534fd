"""Contents of tables and the changes between them: differentiation computes changes, merging applies them."""

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
# The identity of a row, unique within its table and the same from version to version ([D] 5.5).
RowId: TypeAlias = str
# A bag of rows: equal rows have different ids.
Contents: TypeAlias = Mapping[RowId, Row]


class Action(enum.Enum):
    """The action of a change on a row ($ACTION)."""

    DELETE = "DELETE"
    INSERT = "INSERT"


@dataclass(frozen=True, slots=True)
class Change:
    """One row that is removed or added; an update is a DELETE and an INSERT with the same id ([D] 5.5).

    Attributes:
        row: The columns of the table, without id and action; of a DELETE, the row as it was.
    """

    action: Action
    row_id: RowId
    row: Row


# The changes of one interval, deletions first; one id has at most one change of each action.
Delta: TypeAlias = tuple[Change, ...]
