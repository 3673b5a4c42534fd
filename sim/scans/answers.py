"""Judges an answer as far as SQL determines it, and tells which rows no answer can do without.

Shares   the plan's types, the places of ORDER BY, and the meaning of predicates; no rule, no technique.
Removes  the choice that LIMIT and ties leave: every permitted answer is right.
Leaves   the order of rows within a tie, and of rows that no ORDER BY orders.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pruning.expressions.plans import Join, JoinKind, Scan
from pruning.techniques.topk.orders import Position
from sim.scans.queries import Answer, Query, agreement, identity, joined, key_of, sides
from sim.scans.tables import Row, RowTable

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is so of a query, from all rows of its tables.

    Attributes:
        matching: The rows of each scan that satisfy its predicate, by their identities.
        everything: The answer without LIMIT.
        size: How many rows an answer has.
        first: The places of the first `size` rows, in order; None without ORDER BY.
        needed: Of each scan, the identities of rows that every answer is made with.
    """

    matching: Mapping[Scan, Mapping[int, Row]]
    everything: Counter[Answer]
    size: int
    first: Sequence[Position] | None
    needed: Mapping[Scan, frozenset[int]]


def truth(query: Query, tables: Mapping[str, RowTable]) -> Truth:
    """The truth of a query."""
    matching = {
        scan: {identity(row): row for row in tables[asked.table].rows if asked.matches(row)}
        for scan, asked in query.scans.items()
    }
    if query.join is not None:
        left, right = (list(matching[side].values()) for side in sides(query.join))
        found = joined(query.join, left, right)
        return Truth(
            matching=matching,
            everything=Counter(found),
            size=len(found),
            first=None,
            needed=_needed_by_join(query.join, found, left, right),
        )
    ((scan, rows),) = matching.items()
    size = len(rows) if query.wanted is None else min(query.wanted, len(rows))
    first = None
    needed = frozenset(rows) if size == len(rows) else frozenset[int]()
    if query.order is not None:
        places = {name: query.place(row) for name, row in rows.items()}
        first = sorted(places.values(), reverse=query.order.descending)[:size]
        if 0 < size < len(rows):
            needed = frozenset(
                name
                for name, place in places.items()
                if (place > first[-1] if query.order.descending else place < first[-1])
            )
    return Truth(
        matching=matching,
        everything=Counter((name,) for name in rows),
        size=size,
        first=first,
        needed={scan: needed},
    )


def _needed_by_join(
    join: Join, found: Sequence[Answer], left: Sequence[Row], right: Sequence[Row]
) -> dict[Scan, frozenset[int]]:
    """Rows that a row of the answer is made of; where partners only decide, those that do so alone."""
    scans = sides(join)
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        return {
            scan: frozenset(pair[at] for pair in found if pair[at] is not None)  # type: ignore[misc]
            for at, scan in enumerate(scans)
        }
    (equality,) = join.equalities
    agree = agreement(null_safe=equality.null_safe)
    keys = {identity(row): key_of(equality.right, scans[1], row) for row in right}
    deciding = set()
    for row in left:
        key = key_of(equality.left, scans[0], row)
        partners = [name for name, other in keys.items() if agree(key, other)]
        if len(partners) == 1:
            deciding.update(partners)
    return {
        scans[0]: frozenset(pair[0] for pair in found if pair[0] is not None),
        scans[1]: frozenset(deciding),
    }


def difference(query: Query, so: Truth, answer: Sequence[Answer]) -> str | None:
    """What is wrong about an answer, in one sentence; None where it is right."""
    if len(answer) != so.size:
        return f"{len(answer)} rows instead of {so.size}"
    extra = Counter(answer) - so.everything
    if extra:
        return f"rows that the query does not have, or not so often: {list(extra.elements())[:_SHOWN]}"
    if so.first is None:
        return None
    ((rows),) = so.matching.values()
    for at, ((name,), place) in enumerate(zip(answer, so.first, strict=True)):
        assert name is not None
        found = query.place(rows[name])
        if found != place:
            return f"row {at} is {name}, at {found}, where {place} is due"
    return None
