"""Run one world; no other module of this package builds a clock and seeds it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from simpy.events import Event as Waiting

from sim.kernel.draws import Clock, Draws
from sim.kernel.faults import FOREVER_US
from sim.kernel.trace import FaultBegan, FaultEnded, Trace
from sim.scans.control import Control
from sim.scans.events import NodeCrashed, NodeStarted
from sim.scans.faults import AnyFault, CancelQuery, Crash, ScanFaultPlan
from sim.scans.messages import ToControl, ToNode
from sim.scans.model import ScanWorld
from sim.scans.network import RateLimiter, RunContext, Wire
from sim.scans.nodes import Node
from sim.scans.queries import Query
from sim.scans.tables import ScannedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanImplementations:
    """The implementations that a run uses; a mutant replaces one of the project's own."""

    control: Callable[..., Control] = Control
    node: Callable[..., Node] = Node


CORRECT = ScanImplementations()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRun:
    """The input of one run, and its outcome.

    Attributes:
        ended_us: The time at which nothing was left to do.
        settled: True if every query was over by then.
    """

    world: ScanWorld
    tables: Mapping[str, ScannedTable]
    queries: Sequence[Query]
    faults: Sequence[AnyFault]
    seed: int
    trace: Trace
    ended_us: int
    settled: bool

    @property
    def blocks(self) -> dict[str, int]:
        """The number of blocks of each scan, by its name in the trace."""
        return {
            query.scan_name(scan): len(self.tables[source.table].layout.sizes)
            for query in self.queries
            for scan, source in query.scans.items()
        }


def run(
    world: ScanWorld,
    tables: Mapping[str, ScannedTable],
    queries: Sequence[Query],
    faults: Sequence[AnyFault] = (),
    *,
    seed: int,
    implementations: ScanImplementations = CORRECT,
    shuffled: bool = True,
) -> ScanRun:
    """Run queries in a world until each has ended, or had time enough to end.

    Args:
        faults: When the last one is over, queries have `ScanWorld.settle_us` to end.
        shuffled: True if the events of one instant come in a drawn order.
    """
    draws = Draws(seed)
    clock = Clock(draws.stream("ties") if shuffled else None)
    trace: Trace = []
    troubles = ScanFaultPlan(faults)
    context = RunContext(
        clock=clock,
        world=world,
        troubles=troubles,
        draws=draws,
        turns=RateLimiter(world.store.requests_per_s),
        emit=trace.append,
    )
    wire = Wire(context)

    def to_node(number: int, message: ToNode, size_bytes: int) -> None:
        wire.send(message, nodes[number].receive, node=number, to=f"node {number}", size_bytes=size_bytes)

    control = implementations.control(context, tables=tables, send=to_node)

    def to_control(message: ToControl) -> None:
        wire.send(message, control.receive, node=message.node, to="control")

    nodes = [
        implementations.node(number, context, send=to_control) for number in range(world.warehouse.nodes)
    ]
    for node in nodes:
        _start(node, context)
    for fault in faults:
        clock.process(_run_fault(fault, context, nodes=nodes, control=control, queries=queries))
    for query in queries:
        clock.process(control.run(query))
    last = max([troubles.over_us, *(query.arrives_us for query in queries)])
    names = {query.name for query in queries}
    while clock.now < last + world.settle_us and (clock.now <= troubles.over_us or not names <= control.over):
        clock.step()
    settled = names <= control.over
    # Messages under way may arrive, and must have no effect.
    clock.run(until=clock.now + 2 * world.control.lease_us)
    return ScanRun(
        world=world,
        tables=tables,
        queries=queries,
        faults=faults,
        seed=seed,
        trace=trace,
        ended_us=int(clock.now),
        settled=settled,
    )


def _start(node: Node, context: RunContext) -> None:
    node.start()
    context.emit(NodeStarted(at_us=int(context.clock.now), node=node.number, incarnation=node.incarnation))


def _run_fault(
    fault: AnyFault, context: RunContext, *, nodes: Sequence[Node], control: Control, queries: Sequence[Query]
) -> Generator[Waiting, Any, None]:
    """Begin a fault, wait, and end it."""
    clock, emit = context.clock, context.emit
    yield clock.timeout(fault.from_us)
    text = msgspec.json.encode(fault).decode()
    emit(FaultBegan(at_us=int(clock.now), fault=text))
    match fault:
        case Crash(node=number) if nodes[number].up:
            node = nodes[number]
            emit(NodeCrashed(at_us=int(clock.now), node=number, incarnation=node.incarnation))
            node.crash()
            if fault.until_us >= FOREVER_US:
                return
            yield clock.timeout(fault.until_us - fault.from_us)
            _start(node, context)
        case CancelQuery(query=at):
            control.cancel(queries[at])
            return
        case _:
            yield clock.timeout(fault.until_us - fault.from_us)
    emit(FaultEnded(at_us=int(clock.now), fault=text))
