"""One run: the only place that builds a clock and seeds it."""

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
from sim.scans.faults import AnyFault, CancelQuery, Crash, Troubles
from sim.scans.messages import ToControl, ToNode
from sim.scans.model import World
from sim.scans.network import Emit, Line, Wire
from sim.scans.nodes import Node
from sim.scans.queries import Query
from sim.scans.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: the project's own control plane and nodes, unless something wrong is to be shown."""

    control: Callable[..., Control] = Control
    node: Callable[..., Node] = Node


RIGHT = Cast()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run was given, and what came of it.

    Attributes:
        ended_us: When nothing was left to do.
        settled: Whether every query was over by then.
    """

    world: World
    tables: Mapping[str, Table]
    queries: Sequence[Query]
    faults: Sequence[AnyFault]
    seed: int
    trace: Trace
    ended_us: int
    settled: bool

    @property
    def blocks(self) -> dict[str, int]:
        """How many blocks each scan has, by its name in the trace."""
        return {
            query.scan_name(scan): len(self.tables[asked.table].layout.sizes)
            for query in self.queries
            for scan, asked in query.scans.items()
        }


def run(
    world: World,
    tables: Mapping[str, Table],
    queries: Sequence[Query],
    faults: Sequence[AnyFault] = (),
    *,
    seed: int,
    cast: Cast = RIGHT,
    shuffled: bool = True,
) -> Run:
    """Run queries in a world until each is over, or was long enough to be.

    Args:
        faults: What goes wrong; when the last is over, queries have `World.settle_us` to end.
        shuffled: Whether what falls on one instant comes in a drawn order.
    """
    draws = Draws(seed)
    clock = Clock(draws.stream("ties") if shuffled else None)
    trace: Trace = []
    troubles = Troubles(faults)
    emit: Emit = trace.append
    wire = Wire(clock, world.network, troubles, draws, emit)
    turns = Line(world.store.requests_per_s)

    def to_node(number: int, message: ToNode, size_bytes: int) -> None:
        wire.send(message, nodes[number].receive, node=number, to=f"node {number}", size_bytes=size_bytes)

    control = cast.control(clock, world, troubles, tables, emit, to_node)

    def to_control(message: ToControl) -> None:
        wire.send(message, control.receive, node=message.node, to="control")

    nodes = [
        cast.node(number, clock, world, troubles, draws, turns, emit, to_control)
        for number in range(world.warehouse.nodes)
    ]
    for node in nodes:
        _start(node, clock, emit)
    for fault in faults:
        clock.process(_befall(fault, clock, nodes, control, queries, emit))
    for query in queries:
        clock.process(control.run(query))
    last = max([troubles.over_us, *(query.arrives_us for query in queries)])
    names = {query.name for query in queries}
    while clock.now < last + world.settle_us and (clock.now <= troubles.over_us or not names <= control.over):
        clock.step()
    settled = names <= control.over
    # What is still on its way may arrive, and must do nothing.
    clock.run(until=clock.now + 2 * world.control.lease_us)
    return Run(
        world=world,
        tables=tables,
        queries=queries,
        faults=faults,
        seed=seed,
        trace=trace,
        ended_us=int(clock.now),
        settled=settled,
    )


def _start(node: Node, clock: Clock, emit: Emit) -> None:
    node.start()
    emit(NodeStarted(at_us=int(clock.now), node=node.number, incarnation=node.incarnation))


def _befall(
    fault: AnyFault,
    clock: Clock,
    nodes: Sequence[Node],
    control: Control,
    queries: Sequence[Query],
    emit: Emit,
) -> Generator[Waiting, Any, None]:
    """One fault: it begins, and ends. Waits on the clock."""
    yield clock.timeout(fault.from_us)
    told = msgspec.json.encode(fault).decode()
    emit(FaultBegan(at_us=int(clock.now), fault=told))
    match fault:
        case Crash(node=number) if nodes[number].up:
            node = nodes[number]
            emit(NodeCrashed(at_us=int(clock.now), node=number, incarnation=node.incarnation))
            node.crash()
            if fault.until_us >= FOREVER_US:
                return
            yield clock.timeout(fault.until_us - fault.from_us)
            _start(node, clock, emit)
        case CancelQuery(query=at):
            control.cancel(queries[at])
            return
        case _:
            yield clock.timeout(fault.until_us - fault.from_us)
    emit(FaultEnded(at_us=int(clock.now), fault=told))
