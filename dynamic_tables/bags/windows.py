"""Window functions over the rows of one partition; ties in their order are broken by row id (trap 23)."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from operator import itemgetter
from typing import Any, TypeAlias

from dynamic_tables.bags.aggregates import AGGREGATES
from dynamic_tables.maintenance.algebra import Frame, Order, WindowFunction
from dynamic_tables.values.changes import Cell, Row, RowId
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.key_texts import sort_key
from dynamic_tables.values.types import Kind

Pair: TypeAlias = tuple[RowId, Row]
# Computes a function for the ordered rows of a partition; the second argument has each row's group of ties.
Function: TypeAlias = Callable[[Sequence[Pair], Sequence[int]], Sequence[Cell]]
# The positions of the first row of a frame and of the first row after it.
Span: TypeAlias = tuple[int, int]
MICROSECOND = timedelta(microseconds=1)
DAY_US = timedelta(days=1) // MICROSECOND


def term_key(term: Order) -> Callable[[Row], Any]:
    """Return the sort key of rows for one ORDER BY term; NULLs come at the end that the term states."""
    evaluate, order = compile_expression(term.expression), sort_key(term.expression.type)
    null_rank = 0 if term.nulls_first != term.descending else 2

    def of_row(row: Row) -> tuple[int, Any]:
        cell = evaluate(row)
        return (null_rank, 0) if cell is None else (1, order(cell))

    return of_row


def partition_sorter(terms: tuple[Order, ...]) -> Callable[[list[Pair]], tuple[list[Pair], list[int]]]:
    """Return a function that orders the rows of a partition and numbers the groups of tied rows."""
    keys = [term_key(term) for term in terms]
    orders = [(itemgetter(place), term.descending) for place, term in enumerate(terms)]

    def run(rows: list[Pair]) -> tuple[list[Pair], list[int]]:
        # Behind the keys of a row, the row itself.
        placed = [[*[key(pair[1]) for key in keys], pair] for pair in sorted(rows, key=row_id)]
        for of_row, descending in reversed(orders):
            placed.sort(key=of_row, reverse=descending)
        groups: list[int] = []
        last: list[Any] = []
        for entry in placed:
            current = entry[:-1]
            groups.append(groups[-1] + (current != last) if groups else 0)
            last = current
        return [entry[-1] for entry in placed], groups

    return run


def row_id(pair: Pair) -> RowId:
    """Return the id of a row."""
    return pair[0]


def row_numbers(function: WindowFunction) -> Function:
    """Compile ROW_NUMBER."""
    return lambda rows, groups: range(1, len(rows) + 1)


def ranks(function: WindowFunction) -> Function:
    """Compile RANK: one more than the number of rows before the first row of the tie."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        row_ranks: list[Cell] = []
        for place, group in enumerate(groups):
            tied = place > 0 and groups[place - 1] == group
            row_ranks.append(row_ranks[-1] if tied else place + 1)
        return row_ranks

    return run


def dense_ranks(function: WindowFunction) -> Function:
    """Compile DENSE_RANK: one more than the number of groups of ties before."""
    return lambda rows, groups: [group + 1 for group in groups]


def percent_ranks(function: WindowFunction) -> Function:
    """Compile PERCENT_RANK: the part of the other rows that are before the tie; 0 of a row alone."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        starts = [start for start, _ in frame_spans(Frame(0, 0, peers=True), groups)]
        return [start / max(len(rows) - 1, 1) for start in starts]

    return run


def cumulative_distributions(function: WindowFunction) -> Function:
    """Compile CUME_DIST: the part of the rows that are not behind the tie."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        return [end / len(rows) for _, end in frame_spans(Frame(last=0, peers=True), groups)]

    return run


def group_numbers(function: WindowFunction) -> Function:
    """Compile NTILE: the number of one of groups of rows that are as equal as can be, larger ones first."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        small, larger_count = divmod(len(rows), function.offset)
        sizes = [small + (place < larger_count) for place in range(min(function.offset, len(rows)))]
        return [place + 1 for place, size in enumerate(sizes) for _ in range(size)]

    return run


def neighbour_values(sign: int) -> Callable[[WindowFunction], Function]:
    """Return the compiler of LAG or LEAD: the argument at the row `offset` away, or the default."""

    def compile_one(function: WindowFunction) -> Function:
        assert function.argument is not None
        evaluate = compile_expression(function.argument)
        default = compile_expression(function.default) if function.default is not None else lambda row: None
        step = sign * function.offset

        def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
            return [
                evaluate(rows[place + step][1]) if 0 <= place + step < len(rows) else default(row)
                for place, (_, row) in enumerate(rows)
            ]

        return run

    return compile_one


def frame_aggregates(function: WindowFunction) -> Function:
    """Compile an aggregate over the frame of each row."""
    spans_of = compile_spans(function)
    if function.argument is None:
        return lambda rows, groups: [end - start for start, end in spans_of(rows, groups)]
    evaluate = compile_expression(function.argument)
    compute = AGGREGATES[function.function](function.argument.type).compute

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        cells = [evaluate(row) for _, row in rows]
        by_span: dict[Span, Cell] = {}
        values: list[Cell] = []
        for span in spans_of(rows, groups):
            if span not in by_span:
                by_span[span] = compute([cell for cell in cells[slice(*span)] if cell is not None])
            values.append(by_span[span])
        return values

    return run


def compile_spans(function: WindowFunction) -> Callable[[Sequence[Pair], Sequence[int]], list[Span]]:
    """Return a function that gives the positions of the frame of each row of an ordered partition."""
    frame = function.frame
    if isinstance(frame, Frame):
        return lambda rows, groups: frame_spans(frame, groups)
    (term,) = function.order
    evaluate, distance = compile_expression(term.expression), distance_of(term)

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Span]:
        cells = [evaluate(row) for _, row in rows]
        places = [place for place, cell in enumerate(cells) if cell is not None]
        # The rows with a NULL are all before or all behind the others.
        first = places[0] if places else 0
        values = [distance(cells[place]) for place in places]
        peers = frame_spans(Frame(0, 0, peers=True), groups)
        row_spans = []
        for place, cell in enumerate(cells):
            start, stop = peers[place]
            if cell is not None:
                value = values[place - first]
                if frame.first is not None:
                    start = first + bisect_left(values, value + Fraction(frame.first))
                if frame.last is not None:
                    stop = first + bisect_right(values, value + Fraction(frame.last))
            start, stop = 0 if frame.first is None else start, len(rows) if frame.last is None else stop
            row_spans.append((start, max(start, stop)))
        return row_spans

    return run


def distance_of(term: Order) -> Callable[[Any], Fraction]:
    """Return a function that gives the distance of a value from a fixed one, in the direction of an order."""
    sign = -1 if term.descending else 1
    match term.expression.type.kind:
        case Kind.DATE:
            return lambda cell: Fraction(sign * cell.toordinal() * DAY_US)
        case Kind.TIMESTAMP:
            return lambda cell: Fraction(sign * ((cell - datetime.min) // MICROSECOND))
    return lambda cell: sign * Fraction(cell)


def frame_spans(frame: Frame, groups: Sequence[int]) -> list[Span]:
    """Return for each row the positions of the first row of its frame and of the first row after it."""
    count = len(groups)
    starts, ends = list(range(count)), list(range(count))
    if frame.peers:
        for place in range(count - 2, -1, -1):
            if groups[place] == groups[place + 1]:
                ends[place] = ends[place + 1]
        for place in range(1, count):
            if groups[place] == groups[place - 1]:
                starts[place] = starts[place - 1]
    row_spans = []
    for place in range(count):
        start = 0 if frame.first is None else min(max(starts[place] + frame.first, 0), count)
        end = count if frame.last is None else min(max(ends[place] + frame.last + 1, 0), count)
        row_spans.append((start, max(start, end)))
    return row_spans


def edge_values(last: bool) -> Callable[[WindowFunction], Function]:
    """Return the compiler of FIRST_VALUE or LAST_VALUE of the frame."""

    def compile_one(function: WindowFunction) -> Function:
        assert function.argument is not None
        evaluate, spans_of = compile_expression(function.argument), compile_spans(function)

        def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
            return [
                evaluate(rows[end - 1 if last else start][1]) if end > start else None
                for start, end in spans_of(rows, groups)
            ]

        return run

    return compile_one


WINDOWS: Mapping[str, Callable[[WindowFunction], Function]] = {
    "row_number": row_numbers,
    "rank": ranks,
    "dense_rank": dense_ranks,
    "percent_rank": percent_ranks,
    "cume_dist": cumulative_distributions,
    "ntile": group_numbers,
    "lag": neighbour_values(-1),
    "lead": neighbour_values(1),
    "first_value": edge_values(last=False),
    "last_value": edge_values(last=True),
    **dict.fromkeys(AGGREGATES, frame_aggregates),
}


def compile_windows(functions: tuple[WindowFunction, ...]) -> Callable[[list[Pair]], list[Pair]]:
    """Return a function that appends the values of all window functions to the rows of a partition."""
    by_order: dict[tuple[Order, ...], list[tuple[int, Function]]] = {}
    for place, window_function in enumerate(functions):
        by_order.setdefault(window_function.order, []).append(
            (place, WINDOWS[window_function.function](window_function))
        )
    plan = [(partition_sorter(order), members) for order, members in by_order.items()]

    def run(rows: list[Pair]) -> list[Pair]:
        added: dict[RowId, list[Any]] = {identity: [None] * len(functions) for identity, _ in rows}
        for sort, members in plan:
            placed, groups = sort(rows)
            for place, function in members:
                for (identity, _), cell in zip(placed, function(placed, groups), strict=True):
                    added[identity][place] = cell
        return [(identity, (*row, *added[identity])) for identity, row in rows]

    return run
