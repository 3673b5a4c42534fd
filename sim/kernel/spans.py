"""Spans and marks on the time line of a run, as few as a picture can show; pure functions."""

import enum
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

# A span of so many times the smallest visible time is drawn with its own beginning and end.
LONG = 4
Kind = TypeVar("Kind", bound=enum.Enum)


class Span(msgspec.Struct, Generic[Kind], frozen=True, kw_only=True):
    """An activity that lasts; `row` separates the simultaneous work of a node's workers."""

    doing: Kind
    from_us: int
    until_us: int
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Generic[Kind]):
    """Signs of one kind that follow each other so closely that a picture shows them as one."""

    sign: Kind
    at_us: int
    count: int


def assign_rows(spans: Iterable[Span[Kind]]) -> list[Span[Kind]]:
    """Put spans that overlap into different rows, as few as possible; in the order of their beginnings."""
    rows = 0
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    placed = []
    for span in sorted(spans, key=lambda span: (span.from_us, span.until_us)):
        while taken and taken[0][0] <= span.from_us:
            heapq.heappush(free, heapq.heappop(taken)[1])
        row = heapq.heappop(free) if free else rows
        rows = max(rows, row + 1)
        heapq.heappush(taken, (span.until_us, row))
        placed.append(msgspec.structs.replace(span, row=row))
    return placed


def merge_spans(spans: Iterable[Span[Kind]], *, closer_us: int) -> tuple[Span[Kind], ...]:
    """Merge short spans of one row and activity if less than `closer_us` lies between them.

    Spans that last at least `LONG` times `closer_us` stay separate.

    """
    lines: dict[tuple[int, Kind], list[Span[Kind]]] = defaultdict(list)
    closed: set[tuple[int, Kind]] = set()
    for span in sorted(spans, key=lambda span: span.from_us):
        key, long = (span.row, span.doing), span.until_us - span.from_us >= LONG * max(closer_us, 1)
        line = lines[key]
        if line and not long and key not in closed and span.from_us - line[-1].until_us < closer_us:
            line[-1] = msgspec.structs.replace(line[-1], until_us=max(line[-1].until_us, span.until_us))
        else:
            line.append(span)
        (closed.add if long else closed.discard)(key)
    return tuple(span for line in lines.values() for span in line)


def marks(sign: Kind, at_us: Sequence[int], *, closer_us: int) -> Iterator[Mark[Kind]]:
    """Yield marks; each stands for all signs less than `closer_us` after its first one."""
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
