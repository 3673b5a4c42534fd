"""What goes wrong with refreshes, and when: plans of faults, and how it is while they last."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from sim.kernel.faults import Fault

Phase = Literal["begun", "computed", "committed"]
PHASES: tuple[Phase, ...] = ("begun", "computed", "committed")
MESSAGES = ("StartRefresh", "Commit", "Finished", "Failed", "Heartbeat")


class NodeCrash(Fault, frozen=True, kw_only=True, tag="crash"):
    """A node is down: what runs there is lost, and its clock starts again from its saved mark."""

    node: int


class SchedulerCrash(Fault, frozen=True, kw_only=True, tag="scheduler_crash"):
    """The scheduler is lost, with all that it planned; at the end another starts from what is stored."""


class WorkerDies(Fault, frozen=True, kw_only=True, tag="dies"):
    """Refreshes die when they have begun, are computed but not committed, or are committed and not told."""

    phase: Phase
    percent: int = 100


class Slow(Fault, frozen=True, kw_only=True, tag="slow"):
    """Computing takes so many times longer; of one table, or of all."""

    slowdown: int = 10
    table: str = ""


class Failing(Fault, frozen=True, kw_only=True, tag="failing"):
    """Computing fails by a fault of the system, that often."""

    percent: int = 100
    table: str = ""


class Late(Fault, frozen=True, kw_only=True, tag="late"):
    """The refreshes of one table begin so much later."""

    table: str
    delay_us: int


class Skew(Fault, frozen=True, kw_only=True, tag="skew"):
    """The wall clock of a node is ahead, or behind; it steps at both ends."""

    node: int
    offset_us: int


class Weather(Fault, frozen=True, kw_only=True, tag="weather"):
    """Messages are lost, doubled and delayed; `only` names one kind of message."""

    lost_percent: int = 0
    doubled_percent: int = 0
    delay_us_max: int = 0
    only: str = ""


class Poison(Fault, frozen=True, kw_only=True, tag="poison"):
    """A table has a row of zeros, over which queries that divide fail; it goes at the end."""

    table: str


class Surgery(Fault, frozen=True, kw_only=True, tag="statement"):
    """A statement at a bad moment, and others that undo it at the end."""

    sql: str
    undo: tuple[str, ...] = ()


class Purge(Fault, frozen=True, kw_only=True, tag="purge"):
    """What was overwritten longer ago than that is forgotten, at once."""

    keep_us: int = 0


Crash: TypeAlias = NodeCrash | SchedulerCrash | WorkerDies
AnyFault: TypeAlias = Crash | Slow | Failing | Late | Skew | Weather | Poison | Surgery | Purge
Kind = TypeVar("Kind", bound=Fault)


class Troubles:
    """A plan of faults, asked for what is so now.

    Attributes:
        planned: Whether there are any; each refresh asks ten times, so who asks much asks this first.
    """

    def __init__(self, plan: Sequence[AnyFault], now_us: Callable[[], int]) -> None:
        self.planned = bool(plan)
        self._plan = plan
        self._now_us = now_us
        self._dies = self._all(WorkerDies)
        self._slow = self._all(Slow)
        self._failing = self._all(Failing)
        self._late = self._all(Late)
        self._skewed = self._all(Skew)
        self._down = self._all(NodeCrash)
        self._weather = self._all(Weather)

    @property
    def over_us(self) -> int:
        """When the last fault ends."""
        return max((fault.until_us for fault in self._plan), default=0)

    def dies_percent(self, phase: Phase) -> int:
        """How many of a hundred refreshes die now."""
        return max([0, *(one.percent for one in self._now(self._dies) if one.phase == phase)])

    def slowdown(self, table: str) -> int:
        """How many times longer a refresh takes."""
        return max([1, *(one.slowdown for one in self._now(self._slow) if one.table in ("", table))])

    def failed_percent(self, table: str) -> int:
        """How many of a hundred computations fail."""
        return max([0, *(one.percent for one in self._now(self._failing) if one.table in ("", table))])

    def late_us(self, table: str) -> int:
        """How much later refreshes begin."""
        return max([0, *(one.delay_us for one in self._now(self._late) if one.table == table)])

    def offset_us(self, node: int) -> int:
        """How far a wall clock is ahead."""
        return sum(one.offset_us for one in self._now(self._skewed) if one.node == node)

    def down(self, node: int) -> bool:
        """Whether a node is down."""
        return any(one.node == node for one in self._now(self._down))

    def weather(self, kind: str) -> Sequence[Weather]:
        """What befalls a message of that kind."""
        return [one for one in self._now(self._weather) if one.only in ("", kind)]

    def _all(self, kind: type[Kind]) -> list[Kind]:
        return [one for one in self._plan if isinstance(one, kind)]

    def _now(self, planned: list[Kind]) -> list[Kind]:
        now_us = self._now_us()
        return [one for one in planned if one.from_us <= now_us < one.until_us]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What may be befallen, and by which statements."""

    nodes: int
    bases: Sequence[str]
    tables: Sequence[str]
    surgeries: Sequence[tuple[str, tuple[str, ...]]]
    span_us: int


def drawn(draw: random.Random, targets: Targets, *, count_max: int = 5) -> tuple[AnyFault, ...]:
    """A plan of faults within a span."""
    return tuple(_one(draw, targets) for _ in range(draw.randint(1, count_max)))


def _one(draw: random.Random, targets: Targets) -> AnyFault:
    begin = draw.randrange(targets.span_us // 2)
    end = begin + 1 + draw.randrange(targets.span_us - begin)
    node, percent = draw.randrange(targets.nodes), draw.choice((30, 60, 100))
    table = draw.choice(targets.tables)
    offset_us = draw.choice((-5_000_000, -400_000, 400_000, 5_000_000))
    match draw.randrange(15):
        case 0:
            return NodeCrash(from_us=begin, until_us=end, node=node)
        case 1 | 2:
            return WorkerDies(from_us=begin, until_us=end, phase=draw.choice(PHASES), percent=percent)
        case 3:
            return Slow(
                from_us=begin, until_us=end, slowdown=draw.choice((5, 60)), table=draw.choice(("", table))
            )
        case 4:
            return Failing(from_us=begin, until_us=end, percent=percent, table=draw.choice(("", table)))
        case 5:
            return Late(from_us=begin, until_us=end, table=table, delay_us=draw.choice((10, 70)) * 1_000_000)
        case 6:
            return Skew(from_us=begin, until_us=end, node=node, offset_us=offset_us)
        case 7 | 8:
            return Weather(
                from_us=begin,
                until_us=end,
                lost_percent=draw.choice((0, percent)),
                doubled_percent=draw.choice((0, percent)),
                delay_us_max=draw.choice((0, 20_000_000)),
                only=draw.choice(("", *MESSAGES)),
            )
        case 9:
            return Poison(from_us=begin, until_us=end, table=draw.choice(targets.bases))
        case kind if kind == 10 or not targets.surgeries:
            return Purge(from_us=begin, until_us=begin, keep_us=draw.choice((0, 60_000_000)))
        case _:
            sql, undo = draw.choice(targets.surgeries)
            return Surgery(from_us=begin, until_us=end, sql=sql, undo=undo)
