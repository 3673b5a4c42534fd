"""Judge an answer as far as SQL determines it, and find the rows that every answer needs.

Shares   the plan's types, the places of ORDER BY, and the meaning of predicates; no rule, no technique.
Removes  the choice that LIMIT and ties leave: every permitted answer is right.
Leaves   the order of rows within a tie, and of rows without an ORDER BY.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pruning.expressions.plans import Join, JoinKind, Scan
from pruning.techniques.topk.orders import Position
from sim.scans.queries import Answer, Query, join_rows, key_equality, key_of, row_identity, sides
from sim.scans.tables import Row, RowTable

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """The answer that SQL permits for a query, computed from all rows of its tables.

    Attributes:
        matching: The rows of each scan that satisfy its predicate, by their identities.
        everything: The answer without LIMIT.
        size: The number of rows of an answer.
        first: The places of the first `size` rows, in order; None without ORDER BY.
        needed: The identities of the rows of each scan that every answer is made of.
    """

    matching: Mapping[Scan, Mapping[int, Row]]
    everything: Counter[Answer]
    size: int
    first: Sequence[Position] | None
    needed: Mapping[Scan, frozenset[int]]


def expected_answer(query: Query, tables: Mapping[str, RowTable]) -> ExpectedAnswer:
    """Return the expected answer of a query."""
    matching = {
        scan: {row_identity(row): row for row in tables[source.table].rows if source.matches(row)}
        for scan, source in query.scans.items()
    }
    if query.join is not None:
        left, right = (list(matching[side].values()) for side in sides(query.join))
        pairs = join_rows(query.join, left, right)
        return ExpectedAnswer(
            matching=matching,
            everything=Counter(pairs),
            size=len(pairs),
            first=None,
            needed=_needed_by_join(query.join, pairs, left, right),
        )
    ((scan, rows),) = matching.items()
    size = len(rows) if query.limit is None else min(query.limit, len(rows))
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
    return ExpectedAnswer(
        matching=matching,
        everything=Counter((name,) for name in rows),
        size=size,
        first=first,
        needed={scan: needed},
    )


def _needed_by_join(
    join: Join, pairs: Sequence[Answer], left: Sequence[Row], right: Sequence[Row]
) -> dict[Scan, frozenset[int]]:
    """Return the rows that the answer is made of; of a semi or anti join's right side, sole partners."""
    scans = sides(join)
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        return {
            scan: frozenset(number for pair in pairs if (number := pair[at]) is not None)
            for at, scan in enumerate(scans)
        }
    (equality,) = join.equalities
    agree = key_equality(null_safe=equality.null_safe)
    keys = {row_identity(row): key_of(equality.right, scans[1], row) for row in right}
    deciding = set()
    for row in left:
        key = key_of(equality.left, scans[0], row)
        partners = [name for name, other in keys.items() if agree(key, other)]
        if len(partners) == 1:
            deciding.update(partners)
    return {
        scans[0]: frozenset(pair[0] for pair in pairs if pair[0] is not None),
        scans[1]: frozenset(deciding),
    }


def describe_difference(query: Query, expected: ExpectedAnswer, answer: Sequence[Answer]) -> str | None:
    """Return a sentence that tells what is wrong with an answer; None if it is right."""
    if len(answer) != expected.size:
        return f"{len(answer)} rows instead of {expected.size}"
    extra = Counter(answer) - expected.everything
    if extra:
        return f"rows that the query does not have, or not so often: {list(extra.elements())[:_SHOWN]}"
    if expected.first is None:
        return None
    ((rows),) = expected.matching.values()
    for at, ((name,), place) in enumerate(zip(answer, expected.first, strict=True)):
        assert name is not None
        actual_place = query.place(rows[name])
        if actual_place != place:
            return f"row {at} is {name}, at {actual_place}, where {place} is due"
    return None
