"""Queries of a simulated world: plans of the project's own expressions, and their answers for given rows.

Predicates have the meaning of `oracles.meaning.brute_force`; plans have one of the shapes that `Query` names.

"""

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from oracles.meaning.brute_force import evaluate
from pruning.expressions.plans import Filter, Join, JoinKind, Limit, Plan, Scan, Sort, SortItem
from pruning.expressions.trees import Expression
from pruning.expressions.types import Value
from pruning.techniques.topk.orders import Position, SortOrder
from sim.scans.tables import ID, Row

# The identities of the rows that a row of an answer is made of; None for a missing partner.
Answer: TypeAlias = tuple[int | None, ...]


class QueryKind(enum.Enum):
    """The shapes of queries."""

    FILTER = "filter"
    LIMIT = "limit"
    TOPK = "topk"
    JOIN = "join"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredTable:
    """A table of a query, with the predicate of its scan; None selects all rows."""

    table: str
    predicate: Expression | None

    def matches(self, row: Row) -> bool:
        """Tell whether a row satisfies the predicate."""
        return self.predicate is None or evaluate(self.predicate, row) is True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A plan over scans of tables.

    Attributes:
        plan: A filter; a LIMIT of a filter; a sort of a filter with a LIMIT; or a join of two filters.
        scans: The table and predicate of each scan; the build side of a join comes first.
        columns_read: The number of columns read of each block; 0 is all.
    """

    name: str
    kind: QueryKind
    plan: Plan
    scans: Mapping[Scan, FilteredTable]
    arrives_us: int = 0
    columns_read: int = 0

    def scan_name(self, scan: Scan) -> str:
        """Return the name of a scan in traces and messages."""
        return f"{self.name}/{self.scans[scan].table}"

    @property
    def limit(self) -> int | None:
        """The count of the LIMIT."""
        return self.plan.count if isinstance(self.plan, Limit) else None

    @property
    def order(self) -> SortItem | None:
        """The ORDER BY item."""
        below = self.plan.child if isinstance(self.plan, Limit) else self.plan
        return below.items[0] if isinstance(below, Sort) else None

    def place(self, row: Row) -> Position:
        """Return the place of a row in the ORDER BY."""
        assert self.order is not None
        return SortOrder(self.order.descending, self.order.nulls_first).position(
            evaluate(self.order.key, row)
        )

    @property
    def join(self) -> Join | None:
        """The join, if the plan is one."""
        return self.plan if isinstance(self.plan, Join) else None


def query_name(scan: str) -> str:
    """Return the name of the query of a scan."""
    return scan.partition("/")[0]


def query_answer(query: Query, rows: Mapping[Scan, Sequence[Row]]) -> list[Answer]:
    """Return a query's answer from rows of its scans: all matching rows, or enough of them.

    Of ties, and under LIMIT without an order, the first rows are taken.
    """
    join = query.join
    if join is not None:
        left, right = (rows[side] for side in sides(join))
        return join_rows(join, left, right)
    (matching_rows,) = rows.values()
    if query.order is not None:
        matching_rows = sorted(matching_rows, key=query.place, reverse=query.order.descending)
    return [(row_identity(row),) for row in matching_rows[: query.limit]]


def sides(join: Join) -> tuple[Scan, Scan]:
    """Return the scans on both sides of a join."""
    scans = []
    for side in (join.left, join.right):
        while isinstance(side, Filter):
            side = side.child
        assert isinstance(side, Scan)
        scans.append(side)
    return scans[0], scans[1]


def join_rows(join: Join, left: Sequence[Row], right: Sequence[Row]) -> list[Answer]:
    """Join two sides by nested loops over the rows."""
    (equality,) = join.equalities
    agree = key_equality(null_safe=equality.null_safe)
    left_scan, right_scan = sides(join)
    keys = [key_of(equality.right, right_scan, row) for row in right]
    pairs: list[Answer] = []
    paired: set[int] = set()
    for row in left:
        key = key_of(equality.left, left_scan, row)
        partners = [at for at, other in enumerate(keys) if agree(key, other)]
        paired.update(partners)
        row_id = row_identity(row)
        match join.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                if bool(partners) is (join.kind is JoinKind.SEMI):
                    pairs.append((row_id,))
            case _:
                pairs.extend((row_id, row_identity(right[at])) for at in partners)
                if not partners and join.kind in (JoinKind.LEFT, JoinKind.FULL):
                    pairs.append((row_id, None))
    if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
        pairs.extend((None, row_identity(row)) for at, row in enumerate(right) if at not in paired)
    return pairs


def key_of(key: Expression, scan: Scan, row: Row) -> Value | None:
    """Return a join's key for one row of a scan."""
    return evaluate(key, {name: row[column.name] for name, column in scan.columns.items()})


def key_equality(*, null_safe: bool) -> Callable[[Value | None, Value | None], bool]:
    """Return a function that tells whether two keys are equal by a join's condition."""

    def agree(first: Value | None, second: Value | None) -> bool:
        if first is None or second is None:
            return null_safe and first is None and second is None
        return first == second or (_is_nan(first) and _is_nan(second))

    return agree


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def row_identity(row: Row) -> int:
    """Return the number that identifies a row."""
    number = row[ID]
    assert isinstance(number, int)
    return number
