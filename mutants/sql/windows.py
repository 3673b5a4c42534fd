"""Mutants of window functions and frames, each of which takes the place of the sound one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dynamic_tables.bags.windows import Function, Pair, Span, compile_spans, frame_spans, ranks
from dynamic_tables.maintenance.algebra import Frame, RangeFrame, WindowFunction
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.evaluation import compile_expression

Spans = Callable[[Sequence[Pair], Sequence[int]], list[Span]]


def larger_groups_last(function: WindowFunction) -> Function:
    """Give the first groups of NTILE fewer rows than the last."""

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        return [place * function.offset // len(rows) + 1 for place in range(len(rows))]

    return run


def ranks_among_all(function: WindowFunction) -> Function:
    """Divide a rank by the number of all rows."""
    rank = ranks(function)

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Cell]:
        return [int(str(place)) / len(rows) for place in rank(rows, groups)]

    return run


def distribution_of_rows(function: WindowFunction) -> Function:
    """Count the rows before a row, and not those that tie with it."""
    return lambda rows, groups: [(place + 1) / len(rows) for place in range(len(rows))]


def without_first_peers(function: WindowFunction) -> Spans:
    """Begin a frame of peers at the row itself."""
    frame = function.frame
    if not isinstance(frame, Frame) or frame.first != 0 or not frame.peers:
        return compile_spans(function)

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Span]:
        spans = frame_spans(frame, groups)
        return [(max(start, place), end) for place, (start, end) in enumerate(spans)]

    return run


def ascending(function: WindowFunction) -> Spans:
    """Add to values also where the order descends."""
    if not isinstance(function.frame, RangeFrame) or not function.order[0].descending:
        return compile_spans(function)
    first, last = function.frame.first, function.frame.last
    turned = RangeFrame(None if last is None else -last, None if first is None else -first)
    return compile_spans(replace(function, frame=turned))


def nulls_see_nothing(function: WindowFunction) -> Spans:
    """Give a row with a NULL an empty frame."""
    spans_of = compile_spans(function)
    if not isinstance(function.frame, RangeFrame):
        return spans_of
    evaluate = compile_expression(function.order[0].expression)

    def run(rows: Sequence[Pair], groups: Sequence[int]) -> list[Span]:
        pairs = zip(rows, spans_of(rows, groups), strict=True)
        return [(0, 0) if evaluate(row) is None else span for (_, row), span in pairs]

    return run


def without_ties_at_the_end(function: WindowFunction) -> Spans:
    """End a frame of values before the last value."""
    if not isinstance(function.frame, RangeFrame):
        return compile_spans(function)
    spans_of = compile_spans(function)
    return lambda rows, groups: [(start, max(start, end - 1)) for start, end in spans_of(rows, groups)]


FUNCTIONS: Mapping[tuple[str, str], Callable[[WindowFunction], Function]] = {
    ("ntile", "larger groups are last"): larger_groups_last,
    ("percent_rank", "the rank among all rows"): ranks_among_all,
    ("cume_dist", "rows that tie are not counted"): distribution_of_rows,
}
SPANS: Mapping[str, Callable[[WindowFunction], Spans]] = {
    "peers of the first row are left out": without_first_peers,
    "values ascend": ascending,
    "NULL sees nothing": nulls_see_nothing,
    "the last value is left out": without_ties_at_the_end,
}
