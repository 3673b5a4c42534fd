"""The faults of simulated scans: their kinds, plans of them, and their effects at a given time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sim.kernel.faults import FOREVER_US, Fault


class Crash(Fault, frozen=True, kw_only=True, tag="crash"):
    """A node loses its memory and is down."""

    node: int


class Straggler(Fault, frozen=True, kw_only=True, tag="straggler"):
    """A node reads `slowdown` times slower."""

    node: int
    slowdown: int = 10


class Partition(Fault, frozen=True, kw_only=True, tag="partition"):
    """No message reaches a node or leaves it."""

    node: int


class ScanMessageFaults(Fault, frozen=True, kw_only=True, tag="weather"):
    """Messages are lost, doubled and delayed; `only` restricts this to one kind of message."""

    lost_percent: int = 0
    doubled_percent: int = 0
    delay_us_max: int = 0
    only: str = ""


class StoreTrouble(Fault, frozen=True, kw_only=True, tag="store"):
    """Requests fail, or are served at a lower rate."""

    failed_percent: int = 0
    requests_per_s: int = 0


class LateMetadata(Fault, frozen=True, kw_only=True, tag="late_metadata"):
    """The metadata service takes `delay_us` longer."""

    delay_us: int


class CancelQuery(Fault, frozen=True, kw_only=True, tag="cancel"):
    """A user cancels a query; this fault has no end."""

    query: int = 0


AnyFault: TypeAlias = (
    Crash | Straggler | Partition | ScanMessageFaults | StoreTrouble | LateMetadata | CancelQuery
)
Kind = TypeVar("Kind", bound=Fault)
MESSAGES = ("Task", "KnowBoundary", "KnowSummary", "Cancel", "Report", "Heartbeat")


@dataclass(frozen=True, slots=True)
class ScanFaultPlan:
    """A plan of faults, and their effects at a given time."""

    plan: Sequence[AnyFault]

    @property
    def over_us(self) -> int:
        """The end of the last fault that ends."""
        return max((fault.until_us for fault in self.plan if fault.until_us < FOREVER_US), default=0)

    def slowdown(self, node: int, now_us: int) -> int:
        """Return the factor by which a node reads slower."""
        return max([1, *(fault.slowdown for fault in self._of(Straggler, now_us) if fault.node == node)])

    def is_cut_off(self, node: int, now_us: int) -> bool:
        """Tell whether a node is cut off from all messages."""
        return any(fault.node == node for fault in self._of(Partition, now_us))

    def message_faults(self, kind: str, now_us: int) -> tuple[ScanMessageFaults, ...]:
        """Return the faults that affect messages of a kind."""
        return tuple(fault for fault in self._of(ScanMessageFaults, now_us) if fault.only in ("", kind))

    def failed_percent(self, now_us: int) -> int:
        """Return the percentage of requests that fail."""
        return max([0, *(fault.failed_percent for fault in self._of(StoreTrouble, now_us))])

    def requests_per_s(self, now_us: int) -> int:
        """Return the lowest request rate that a fault allows; 0 is no limit."""
        return min(
            (fault.requests_per_s for fault in self._of(StoreTrouble, now_us) if fault.requests_per_s),
            default=0,
        )

    def metadata_delay_us(self, now_us: int) -> int:
        """Return the delay of the metadata service."""
        return max([0, *(fault.delay_us for fault in self._of(LateMetadata, now_us))])

    def _of(self, kind: type[Kind], now_us: int) -> list[Kind]:
        return [
            fault
            for fault in self.plan
            if isinstance(fault, kind) and fault.from_us <= now_us < fault.until_us
        ]


def draw_faults(
    draw: random.Random, *, nodes: int, queries: int, span_us: int, count_max: int = 5
) -> tuple[AnyFault, ...]:
    """Draw a plan of faults within a span; node 0 never crashes for ever, so that one node lives."""
    return tuple(_draw_fault(draw, nodes, queries, span_us) for _ in range(draw.randint(0, count_max)))


def _draw_fault(draw: random.Random, nodes: int, queries: int, span_us: int) -> AnyFault:
    # Most queries are short, and late faults would miss them.
    begin = draw.randrange(draw.choice((span_us // 10, span_us // 3, span_us)))
    end = begin + 1 + draw.randrange(span_us)
    node = draw.randrange(nodes)
    percent = draw.choice((5, 20, 50, 100))
    match draw.randrange(9):
        case 0 | 1 | 2:
            if node and draw.random() < 0.2:
                end = FOREVER_US
            return Crash(from_us=begin, until_us=end, node=node)
        case 3:
            return Straggler(from_us=begin, until_us=end, node=node, slowdown=draw.choice((3, 10, 100)))
        case 4:
            return Partition(from_us=begin, until_us=end, node=node)
        case 5 | 6:
            return ScanMessageFaults(
                from_us=begin,
                until_us=end,
                lost_percent=draw.choice((0, percent)),
                doubled_percent=draw.choice((0, percent)),
                delay_us_max=draw.choice((0, span_us // 10, span_us)),
                only=draw.choice(("", *MESSAGES)),
            )
        case 7:
            return StoreTrouble(
                from_us=begin, until_us=end, failed_percent=percent, requests_per_s=draw.choice((0, 20))
            )
        case _:
            if draw.random() < 0.5:
                return LateMetadata(from_us=begin, until_us=end, delay_us=draw.randrange(span_us))
            return CancelQuery(from_us=begin, until_us=begin, query=draw.randrange(queries))
