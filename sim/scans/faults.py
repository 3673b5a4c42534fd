"""What goes wrong, and when: plans of faults, which are data, and how the world is while they last."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sim.kernel.faults import FOREVER_US, Fault


class Crash(Fault, frozen=True, kw_only=True, tag="crash"):
    """A node loses its memory, and is down."""

    node: int


class Straggler(Fault, frozen=True, kw_only=True, tag="straggler"):
    """A node reads so many times slower."""

    node: int
    slowdown: int = 10


class Partition(Fault, frozen=True, kw_only=True, tag="partition"):
    """No message reaches a node or leaves it."""

    node: int


class Weather(Fault, frozen=True, kw_only=True, tag="weather"):
    """Messages are lost, doubled and delayed; `only` names one kind of message."""

    lost_percent: int = 0
    doubled_percent: int = 0
    delay_us_max: int = 0
    only: str = ""


class StoreTrouble(Fault, frozen=True, kw_only=True, tag="store"):
    """Requests fail, or are served at a lower rate."""

    failed_percent: int = 0
    requests_per_s: int = 0


class LateMetadata(Fault, frozen=True, kw_only=True, tag="late_metadata"):
    """The metadata service takes so much longer."""

    delay_us: int


class CancelQuery(Fault, frozen=True, kw_only=True, tag="cancel"):
    """Somebody no longer wants an answer; there is no end to that."""

    query: int = 0


AnyFault: TypeAlias = Crash | Straggler | Partition | Weather | StoreTrouble | LateMetadata | CancelQuery
Kind = TypeVar("Kind", bound=Fault)
MESSAGES = ("Task", "KnowBoundary", "KnowSummary", "Cancel", "Report", "Heartbeat")


@dataclass(frozen=True, slots=True)
class Troubles:
    """A plan of faults, asked for what is so at an instant."""

    plan: Sequence[AnyFault]

    @property
    def over_us(self) -> int:
        """When the last fault ends, of those that end."""
        return max((fault.until_us for fault in self.plan if fault.until_us < FOREVER_US), default=0)

    def slowdown(self, node: int, now_us: int) -> int:
        """How many times longer a node takes to read."""
        return max([1, *(one.slowdown for one in self._of(Straggler, now_us) if one.node == node)])

    def parted(self, node: int, now_us: int) -> bool:
        """Whether no message passes."""
        return any(one.node == node for one in self._of(Partition, now_us))

    def weather(self, kind: str, now_us: int) -> tuple[Weather, ...]:
        """What befalls a message of that kind."""
        return tuple(one for one in self._of(Weather, now_us) if one.only in ("", kind))

    def failed_percent(self, now_us: int) -> int:
        """How many of a hundred requests fail."""
        return max([0, *(one.failed_percent for one in self._of(StoreTrouble, now_us))])

    def requests_per_s(self, now_us: int) -> int:
        """The lowest rate that a fault allows; 0 is no limit."""
        return min(
            (one.requests_per_s for one in self._of(StoreTrouble, now_us) if one.requests_per_s), default=0
        )

    def metadata_delay_us(self, now_us: int) -> int:
        """What the metadata service takes longer."""
        return max([0, *(one.delay_us for one in self._of(LateMetadata, now_us))])

    def _of(self, kind: type[Kind], now_us: int) -> list[Kind]:
        return [one for one in self.plan if isinstance(one, kind) and one.from_us <= now_us < one.until_us]


def drawn(
    draw: random.Random, *, nodes: int, queries: int, span_us: int, count_max: int = 5
) -> tuple[AnyFault, ...]:
    """A plan of faults within a span; of nodes, 0 alone never crashes for ever, so that one lives."""
    return tuple(_one(draw, nodes, queries, span_us) for _ in range(draw.randint(0, count_max)))


def _one(draw: random.Random, nodes: int, queries: int, span_us: int) -> AnyFault:
    # Most queries are short: what goes wrong late befalls none of them.
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
            return Weather(
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
