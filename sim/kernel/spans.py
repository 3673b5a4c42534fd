"""Spans and marks along the time of a run, as few as a picture can show: pure functions."""

import enum
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

# So many times what is too near to tell apart can be seen to begin and end.
LONG = 4
Kind = TypeVar("Kind", bound=enum.Enum)


class Span(msgspec.Struct, Generic[Kind], frozen=True, kw_only=True):
    """Something that lasts; of the work of a node's workers, `row` tells apart what goes on at once."""

    doing: Kind
    from_us: int
    until_us: int
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Generic[Kind]):
    """So many signs of a kind, from an instant on so near each other that they are one to the eye."""

    sign: Kind
    at_us: int
    count: int


def in_rows(spans: Iterable[Span[Kind]]) -> list[Span[Kind]]:
    """Spans in as few rows as keep those apart that overlap, in the order of their beginnings."""
    rows = 0
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    placed = []
    for span in sorted(spans, key=lambda one: (one.from_us, one.until_us)):
        while taken and taken[0][0] <= span.from_us:
            heapq.heappush(free, heapq.heappop(taken)[1])
        row = heapq.heappop(free) if free else rows
        rows = max(rows, row + 1)
        heapq.heappush(taken, (span.until_us, row))
        placed.append(msgspec.structs.replace(span, row=row))
    return placed


def merged(spans: Iterable[Span[Kind]], *, closer_us: int) -> tuple[Span[Kind], ...]:
    """Spans of which short ones that do the same in a row are one where less than that lies between them.

    Those that last `LONG` times as long, or longer, stay alone.
    """
    lines: dict[tuple[int, Kind], list[Span[Kind]]] = defaultdict(list)
    closed: set[tuple[int, Kind]] = set()
    for span in sorted(spans, key=lambda one: one.from_us):
        key, long = (span.row, span.doing), span.until_us - span.from_us >= LONG * max(closer_us, 1)
        line = lines[key]
        if line and not long and key not in closed and span.from_us - line[-1].until_us < closer_us:
            line[-1] = msgspec.structs.replace(line[-1], until_us=max(line[-1].until_us, span.until_us))
        else:
            line.append(span)
        (closed.add if long else closed.discard)(key)
    return tuple(span for line in lines.values() for span in line)


def marks(sign: Kind, at_us: Sequence[int], *, closer_us: int) -> Iterator[Mark[Kind]]:
    """One mark for all that happens less than that after the first of them."""
    first, count = None, 0
    for at in sorted(at_us):
        if first is not None and at - first < closer_us:
            count += 1
            continue
        if first is not None:
            yield Mark(sign=sign, at_us=first, count=count)
        first, count = at, 1
    if first is not None:
        yield Mark(sign=sign, at_us=first, count=count)
