"""The faults of simulated refreshes: their kinds, plans of them, and their effects at a given time."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from sim.kernel.faults import Fault

Phase = Literal["begun", "computed", "committed"]
PHASES: tuple[Phase, ...] = ("begun", "computed", "committed")
MESSAGES = ("StartRefresh", "Commit", "Finished", "Failed", "Heartbeat")


class NodeCrash(Fault, frozen=True, kw_only=True, tag="crash"):
    """A node is down: its work is lost, and its clock starts again from its saved mark."""

    node: int


class SchedulerCrash(Fault, frozen=True, kw_only=True, tag="scheduler_crash"):
    """The scheduler is lost with all its plans; at the end another starts from stored state."""


class WorkerDies(Fault, frozen=True, kw_only=True, tag="dies"):
    """Workers of refreshes die after the begin, after computing, or after the unreported commit."""

    phase: Phase
    percent: int = 100


class Slow(Fault, frozen=True, kw_only=True, tag="slow"):
    """Computing takes `slowdown` times as long, for one table or all."""

    slowdown: int = 10
    table: str = ""


class Failing(Fault, frozen=True, kw_only=True, tag="failing"):
    """Computing fails by a fault of the system, in `percent` of the attempts."""

    percent: int = 100
    table: str = ""


class Late(Fault, frozen=True, kw_only=True, tag="late"):
    """The refreshes of one table begin `delay_us` later."""

    table: str
    delay_us: int


class Skew(Fault, frozen=True, kw_only=True, tag="skew"):
    """The wall clock of a node is ahead or, if negative, behind; it steps at both ends of the fault."""

    node: int
    offset_us: int


class RefreshMessageFaults(Fault, frozen=True, kw_only=True, tag="weather"):
    """Messages are lost, doubled and delayed; `only` restricts this to one kind of message."""

    lost_percent: int = 0
    doubled_percent: int = 0
    delay_us_max: int = 0
    only: str = ""


class Poison(Fault, frozen=True, kw_only=True, tag="poison"):
    """A table has a row of zeros, over which queries that divide fail; it is removed at the end."""

    table: str


class Surgery(Fault, frozen=True, kw_only=True, tag="statement"):
    """A disturbing statement, and the statements that undo it at the end."""

    sql: str
    undo: tuple[str, ...] = ()


class Purge(Fault, frozen=True, kw_only=True, tag="purge"):
    """Versions that were overwritten more than `keep_us` ago are purged, at one instant."""

    keep_us: int = 0


Crash: TypeAlias = NodeCrash | SchedulerCrash | WorkerDies
AnyFault: TypeAlias = Crash | Slow | Failing | Late | Skew | RefreshMessageFaults | Poison | Surgery | Purge
Kind = TypeVar("Kind", bound=Fault)


class RefreshFaultPlan:
    """A plan of faults, and their effects at the current time.

    Attributes:
        planned: True if there is any fault; each refresh asks ten times, so callers on hot paths test this
        first.
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
        self._weather = self._all(RefreshMessageFaults)

    @property
    def over_us(self) -> int:
        """The time at which the last fault ends."""
        return max((fault.until_us for fault in self._plan), default=0)

    def dies_percent(self, phase: Phase) -> int:
        """Return the percentage of refreshes that die in a phase now."""
        return max([0, *(fault.percent for fault in self._now(self._dies) if fault.phase == phase)])

    def slowdown(self, table: str) -> int:
        """Return the factor by which a refresh takes longer now."""
        return max([1, *(fault.slowdown for fault in self._now(self._slow) if fault.table in ("", table))])

    def failed_percent(self, table: str) -> int:
        """Return the percentage of computations that fail now."""
        return max([0, *(fault.percent for fault in self._now(self._failing) if fault.table in ("", table))])

    def late_us(self, table: str) -> int:
        """Return the delay of the beginning of refreshes now."""
        return max([0, *(fault.delay_us for fault in self._now(self._late) if fault.table == table)])

    def offset_us(self, node: int) -> int:
        """Return how far a wall clock is ahead now."""
        return sum(fault.offset_us for fault in self._now(self._skewed) if fault.node == node)

    def is_down(self, node: int) -> bool:
        """Tell whether a node is down now."""
        return any(fault.node == node for fault in self._now(self._down))

    def message_faults(self, kind: str) -> Sequence[RefreshMessageFaults]:
        """Return the faults that now affect messages of a kind."""
        return [fault for fault in self._now(self._weather) if fault.only in ("", kind)]

    def _all(self, kind: type[Kind]) -> list[Kind]:
        return [fault for fault in self._plan if isinstance(fault, kind)]

    def _now(self, planned: list[Kind]) -> list[Kind]:
        now_us = self._now_us()
        return [fault for fault in planned if fault.from_us <= now_us < fault.until_us]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The nodes, tables and statements that drawn faults may affect."""

    nodes: int
    bases: Sequence[str]
    tables: Sequence[str]
    surgeries: Sequence[tuple[str, tuple[str, ...]]]
    span_us: int


def draw_faults(draw: random.Random, targets: Targets, *, count_max: int = 5) -> tuple[AnyFault, ...]:
    """Draw a plan of faults within a span of time."""
    return tuple(_draw_fault(draw, targets) for _ in range(draw.randint(1, count_max)))


def _draw_fault(draw: random.Random, targets: Targets) -> AnyFault:
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
            return RefreshMessageFaults(
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
