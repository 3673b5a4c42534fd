"""Window functions over the rows of one partition; ties in their order are broken by row id (trap 23)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dynamic_tables.bags.aggregates import AGGREGATES
from dynamic_tables.maintenance.algebra import Frame, Order, WindowFunction
from dynamic_tables.values.cells import ordered
from dynamic_tables.values.changes import Cell, Row, RowId
from dynamic_tables.values.evaluation import compiled

Pair: TypeAlias = tuple[RowId, Row]
# The cells of a function for the ordered rows of a partition; the second argument has each row's peer group.
Function: TypeAlias = Callable[[Sequence[Pair], Sequence[int]], Sequence[Cell]]


def term_key(term: Order) -> Callable[[Row], Any]:
    """What rows are sorted by for one term: NULLs are at the end that the term says."""
    evaluate, order = compiled(term.expression), ordered(term.expression.type)
    null_rank = 0 if term.nulls_first != term.descending else 2

    def of_row(row: Row) -> tuple[int, Any]:
        cell = evaluate(row)
        return (null_rank, 0) if cell is None else (1, order(cell))

    return of_row


def sorter(terms: tuple[Order, ...]) -> Callable[[list[Pair]], tuple[list[Pair], list[int]]]:
    """A function that orders the rows of a partition, and numbers the groups of those that tie."""
    keys = [term_key(term) for term in terms]
    by_pair = [(of_second(key), term.descending) for key, term in zip(keys, terms, strict=True)]

    def run(rows: list[Pair]) -> tuple[list[Pair], list[int]]:
        placed = sorted(rows, key=row_id)
        for of_pair, descending in reversed(by_pair):
            placed.sort(key=of_pair, reverse=descending)
        groups: list[int] = []
        last: object = None
        for _, row in placed:
            current = [key(row) for key in keys]
            groups.append(groups[-1] + (current != last) if groups else 0)
            last = current
        return placed, groups

    return run


def of_second(key: Callable[[Row], Any]) -> Callable[[Pair], Any]:
    """What the row of a pair is sorted by."""
    return lambda pair: key(pair[1])


def row_id(pair: Pair) -> RowId:
    """The id of a row."""
    return pair[0]


def row_numbers(one: WindowFunction) -> Function:
    """ROW_NUMBER."""
    return lambda rows, groups: range(1, len(rows) + 1)


def ranks(one: WindowFunction) -> Function:
    """RANK: one more than the rows before the first that ties."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        found: list[Cell] = []
        for place, group in enumerate(groups):
            tied = place > 0 and groups[place - 1] == group
            found.append(found[-1] if tied else place + 1)
        return found

    return run


def dense_ranks(one: WindowFunction) -> Function:
    """DENSE_RANK: one more than the groups before."""
    return lambda rows, groups: [group + 1 for group in groups]


def neighbours(sign: int) -> Callable[[WindowFunction], Function]:
    """LAG and LEAD: the argument so many rows away, or the default."""

    def compile_one(one: WindowFunction) -> Function:
        assert one.argument is not None
        evaluate = compiled(one.argument)
        default = compiled(one.default) if one.default is not None else lambda row: None
        step = sign * one.offset

        def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
            return [
                evaluate(rows[place + step][1]) if 0 <= place + step < len(rows) else default(row)
                for place, (_, row) in enumerate(rows)
            ]

        return run

    return compile_one


def over_frame(one: WindowFunction) -> Function:
    """An aggregate over the rows of a frame around each row."""
    frame = one.frame
    if one.argument is None:
        return lambda rows, groups: [end - start for start, end in spans(frame, groups)]
    evaluate = compiled(one.argument)
    compute = AGGREGATES[one.function](one.argument.type).compute

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        cells = [evaluate(row) for _, row in rows]
        known: dict[tuple[int, int], Cell] = {}
        found: list[Cell] = []
        for span in spans(frame, groups):
            if span not in known:
                known[span] = compute([cell for cell in cells[slice(*span)] if cell is not None])
            found.append(known[span])
        return found

    return run


def spans(frame: Frame, groups: Sequence[int]) -> list[tuple[int, int]]:
    """For each row the places of the first row of its frame and behind the last."""
    count = len(groups)
    ends = list(range(count))
    if frame.peers:
        for place in range(count - 2, -1, -1):
            if groups[place] == groups[place + 1]:
                ends[place] = ends[place + 1]
    found = []
    for place in range(count):
        start = 0 if frame.first is None else min(max(place + frame.first, 0), count)
        end = count if frame.last is None else min(max(ends[place] + frame.last + 1, 0), count)
        found.append((start, max(start, end)))
    return found


def edge(last: bool) -> Callable[[WindowFunction], Function]:
    """FIRST_VALUE and LAST_VALUE of the frame."""

    def compile_one(one: WindowFunction) -> Function:
        assert one.argument is not None
        evaluate = compiled(one.argument)

        def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
            return [
                evaluate(rows[end - 1 if last else start][1]) if end > start else None
                for start, end in spans(one.frame, groups)
            ]

        return run

    return compile_one


WINDOWS: Mapping[str, Callable[[WindowFunction], Function]] = {
    "row_number": row_numbers,
    "rank": ranks,
    "dense_rank": dense_ranks,
    "lag": neighbours(-1),
    "lead": neighbours(1),
    "first_value": edge(last=False),
    "last_value": edge(last=True),
    **dict.fromkeys(AGGREGATES, over_frame),
}


def compiled_windows(functions: tuple[WindowFunction, ...]) -> Callable[[list[Pair]], list[Pair]]:
    """A function that adds to the rows of a partition the cells of all functions."""
    by_order: dict[tuple[Order, ...], list[tuple[int, Function]]] = {}
    for place, one in enumerate(functions):
        by_order.setdefault(one.order, []).append((place, WINDOWS[one.function](one)))
    plan = [(sorter(order), members) for order, members in by_order.items()]

    def run(rows: list[Pair]) -> list[Pair]:
        added: dict[RowId, list[Any]] = {found: [None] * len(functions) for found, _ in rows}
        for sort, members in plan:
            placed, groups = sort(rows)
            for place, function in members:
                for (found, _), cell in zip(placed, function(placed, groups), strict=True):
                    added[found][place] = cell
        return [(found, (*row, *added[found])) for found, row in rows]

    return run
