"""A whole small world from one seed: what is asked of which tables where, and what goes wrong."""

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from sim import faults
from sim.drawing import KINDS, WANTED, drawn_queries, drawn_table, drawn_world
from sim.faults import AnyFault, Crash, Weather
from sim.model import Keeping, World
from sim.queries import Kind, Query
from sim.run import RIGHT, Cast, Run, run
from sim.tables import Table

ROWS_MAX = 6
FAULTS_SPAN_US = 2_000_000
_TABLES = ("t", "u")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallWorld:
    """What a run is given."""

    world: World
    tables: Mapping[str, Table]
    queries: Sequence[Query]
    faults: Sequence[AnyFault]

    def run(self, seed: int, cast: Cast = RIGHT) -> Run:
        """Run it; the seed decides what no plan does: durations, and the fates of messages."""
        return run(self.world, self.tables, self.queries, self.faults, seed=seed, cast=cast)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """What a seed is about; of things that are rare each by itself, several hardly ever come together.

    Source: swarm testing (Groce, Zhang, Eide, Chen and Regehr, ISSTA 2012).

    Attributes:
        nodes_max, blocks_max, queries_max: Of the warehouse, of a table, and of the seed.
        spans: Of which one is how many values a key has.
        filtered: The share of scans with a predicate.
        wanted: Of which one is how many rows a LIMIT or a top-k asks for.
        trouble: Faults beside those that are drawn, for so many nodes.
        changed: The drawn world as the theme needs it.
    """

    kinds: Sequence[Kind] = KINDS
    nodes_max: int = 5
    blocks_max: int = 20
    queries_max: int = 6
    spans: Sequence[int] = (2, 6, 30, 30)
    filtered: float = 0.8
    wanted: Sequence[int] = WANTED
    trouble: Callable[[random.Random, int], Sequence[AnyFault]] = lambda draw, nodes: ()
    changed: Callable[[World], World] = lambda world: world


def _reports_are_lost(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    return (Weather(from_us=0, until_us=FAULTS_SPAN_US, lost_percent=50, only="Report"),)


def _each_node_crashes_soon(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    """For a moment: blocks of the build side are lost, and the others' still come in."""
    begins = [draw.randrange(FAULTS_SPAN_US // 100, FAULTS_SPAN_US // 10) for _ in range(nodes)]
    return [Crash(from_us=at, until_us=at + 10_000, node=node) for node, at in enumerate(begins)]


def _nodes_learn_alone(world: World) -> World:
    """With one worker the blocks that a node has read are those that it prunes by."""
    return replace(world, warehouse=replace(world.warehouse, workers=1))


def _planning_has_no_time(world: World) -> World:
    """Nodes are asked most of the predicate, and tell what they see before they report."""
    return replace(
        world,
        warehouse=replace(world.warehouse, blocks_per_task=4),
        metadata=replace(world.metadata, keeping=Keeping.COLUMNAR),
        control=replace(world.control, classify_ns=50_000_000, compile_us_max=1, heartbeat_us=20_000),
    )


def _summaries_are_exact(world: World) -> World:
    """And whole before a probe side begins, so that a key which is missing in one is missed."""
    control = replace(world.control, summary_wait_us=10_000_000, summary_bytes_max=65_536)
    return replace(world, control=control)


def _metadata_comes_slowly(world: World) -> World:
    """Blocks of the build side are read before it is known how many there are."""
    slow = replace(world.metadata, keeping=Keeping.COLUMNAR, blocks_per_chunk=3, bytes_per_s=300)
    return replace(_summaries_are_exact(world), metadata=slow)


_JOINS = Theme(
    kinds=(Kind.JOIN,), queries_max=12, spans=(30, 100), filtered=0.1, trouble=_each_node_crashes_soon
)
_THEMES = (
    *[Theme()] * 2,
    Theme(kinds=(Kind.TOPK,), nodes_max=2, blocks_max=8, spans=(1, 2), trouble=_reports_are_lost),
    Theme(
        kinds=(Kind.TOPK,),
        nodes_max=3,
        blocks_max=40,
        queries_max=12,
        spans=(30,),
        filtered=0.2,
        wanted=(10, 20, 40),
        changed=_nodes_learn_alone,
    ),
    Theme(
        kinds=(Kind.LIMIT, Kind.LIMIT, Kind.TOPK), queries_max=12, filtered=1.0, changed=_planning_has_no_time
    ),
    dataclasses.replace(_JOINS, changed=_summaries_are_exact),
    dataclasses.replace(_JOINS, changed=_metadata_comes_slowly),
)


def small_world(seed: int) -> SmallWorld:
    """The world of a seed, with faults."""
    draw = random.Random(f"{seed}/world")
    theme = random.Random(f"{seed}/theme").choice(_THEMES)
    world = theme.changed(drawn_world(draw, theme.nodes_max))
    tables: dict[str, Table] = {
        name: drawn_table(draw, name, blocks_max=theme.blocks_max, rows_max=ROWS_MAX, spans=theme.spans)
        for name in _TABLES
    }
    queries = drawn_queries(
        draw, _TABLES, theme.kinds, most=theme.queries_max, filtered=theme.filtered, wanted=theme.wanted
    )
    troubles = random.Random(f"{seed}/faults")
    nodes = world.warehouse.nodes
    plan = faults.drawn(troubles, nodes=nodes, queries=len(queries), span_us=FAULTS_SPAN_US)
    return SmallWorld(
        world=world, tables=tables, queries=queries, faults=(*plan, *theme.trouble(troubles, nodes))
    )
