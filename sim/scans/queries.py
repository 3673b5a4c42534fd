"""Queries of a simulated world: plans of the project's own kind, and what they answer of given rows.

The meaning of a predicate is that of `oracles.meaning.brute_force`; a plan is one of the shapes that
`Query` names.
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

# The identities of the rows of which a row of an answer is made; None where a side has no partner.
Answer: TypeAlias = tuple[int | None, ...]


class Kind(enum.Enum):
    """The shapes of queries."""

    FILTER = "filter"
    LIMIT = "limit"
    TOPK = "topk"
    JOIN = "join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a query asks of one scan: the rows on which the predicate is TRUE; None is all of the table."""

    table: str
    predicate: Expression | None

    def matches(self, row: Row) -> bool:
        """Whether a row is one of the scan's."""
        return self.predicate is None or evaluate(self.predicate, row) is True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A plan over scans of tables.

    Attributes:
        plan: A filter; or a LIMIT of one; or a sort of one with a LIMIT; or a join of two.
        scans: What is asked of each scan; the build side of a join is read first.
        columns_read: Of each block that is read; 0 is all.
    """

    name: str
    kind: Kind
    plan: Plan
    scans: Mapping[Scan, Asked]
    arrives_us: int = 0
    columns_read: int = 0

    def scan_name(self, scan: Scan) -> str:
        """What trace and messages call a scan."""
        return f"{self.name}/{self.scans[scan].table}"

    @property
    def wanted(self) -> int | None:
        """The LIMIT."""
        return self.plan.count if isinstance(self.plan, Limit) else None

    @property
    def order(self) -> SortItem | None:
        """The ORDER BY item."""
        below = self.plan.child if isinstance(self.plan, Limit) else self.plan
        return below.items[0] if isinstance(below, Sort) else None

    def place(self, row: Row) -> Position:
        """Where ORDER BY places a row."""
        assert self.order is not None
        return SortOrder(self.order.descending, self.order.nulls_first).place(evaluate(self.order.key, row))

    @property
    def join(self) -> Join | None:
        """The join."""
        return self.plan if isinstance(self.plan, Join) else None


def query_name(scan: str) -> str:
    """The name of the query that a scan of that name is of."""
    return scan.partition("/")[0]


def answered(query: Query, rows: Mapping[Scan, Sequence[Row]]) -> list[Answer]:
    """The answer of a query of rows that are its scans', all of them or enough.

    Of ties, and under LIMIT without an order, the first rows are taken.
    """
    join = query.join
    if join is not None:
        left, right = (rows[side] for side in sides(join))
        return joined(join, left, right)
    (found,) = rows.values()
    if query.order is not None:
        found = sorted(found, key=query.place, reverse=query.order.descending)
    return [(identity(row),) for row in found[: query.wanted]]


def sides(join: Join) -> tuple[Scan, Scan]:
    """The scans on both sides of a join."""
    found = []
    for side in (join.left, join.right):
        while isinstance(side, Filter):
            side = side.child
        assert isinstance(side, Scan)
        found.append(side)
    return found[0], found[1]


def joined(join: Join, left: Sequence[Row], right: Sequence[Row]) -> list[Answer]:
    """The rows of a join of two sides, by nested loops over the rows."""
    (equality,) = join.equalities
    agree = agreement(null_safe=equality.null_safe)
    left_scan, right_scan = sides(join)
    keys = [key_of(equality.right, right_scan, row) for row in right]
    pairs: list[Answer] = []
    paired: set[int] = set()
    for row in left:
        key = key_of(equality.left, left_scan, row)
        partners = [at for at, other in enumerate(keys) if agree(key, other)]
        paired.update(partners)
        one = identity(row)
        match join.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                if bool(partners) is (join.kind is JoinKind.SEMI):
                    pairs.append((one,))
            case _:
                pairs.extend((one, identity(right[at])) for at in partners)
                if not partners and join.kind in (JoinKind.LEFT, JoinKind.FULL):
                    pairs.append((one, None))
    if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
        pairs.extend((None, identity(row)) for at, row in enumerate(right) if at not in paired)
    return pairs


def key_of(key: Expression, scan: Scan, row: Row) -> Value | None:
    """A join's key, over the attributes of a scan, of one of its rows."""
    return evaluate(key, {name: row[column.name] for name, column in scan.columns.items()})


def agreement(*, null_safe: bool) -> Callable[[Value | None, Value | None], bool]:
    """Whether two keys are equal, as a join's condition has it."""

    def agree(one: Value | None, other: Value | None) -> bool:
        if one is None or other is None:
            return null_safe and one is None and other is None
        return one == other or (_is_nan(one) and _is_nan(other))

    return agree


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def identity(row: Row) -> int:
    """What tells a row from all others."""
    found = row[ID]
    assert isinstance(found, int)
    return found
