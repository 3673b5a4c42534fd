"""A whole small world from one seed: what is asked of which tables where, and what goes wrong."""

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from sim.scans import faults
from sim.scans.drawing import BLOCKS, KEYS, KINDS, LAID_BY, WANTED, drawn_queries, drawn_table, drawn_world
from sim.scans.faults import AnyFault, Crash, Weather
from sim.scans.model import Keeping, World
from sim.scans.queries import Kind, Query
from sim.scans.run import RIGHT, Cast, Run, run
from sim.scans.tables import Table

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
        nodes_max, queries_max: Of the warehouse, and of the seed.
        blocks: Of which one is the most that a table has.
        rows_max: Of a block, on average.
        spans: Of which one is how many values a key has.
        laid_by: Of which one is the column that a table is laid out by, or None.
        keys: Of which one is what a query sorts or joins by.
        filtered: The share of scans with a predicate.
        wanted: Of which one is how many rows a LIMIT or a top-k asks for.
        trouble: Faults beside those that are drawn, for so many nodes.
        changed: The drawn world as the theme needs it.
    """

    kinds: Sequence[Kind] = KINDS
    nodes_max: int = 5
    queries_max: int = 6
    blocks: Sequence[int] = BLOCKS
    rows_max: int = 6
    spans: Sequence[int] = (2, 6, 30, 30)
    laid_by: Sequence[str | None] = LAID_BY
    keys: Sequence[str] = KEYS
    filtered: float = 0.8
    wanted: Sequence[int] = WANTED
    trouble: Callable[[random.Random, int], Sequence[AnyFault]] = lambda draw, nodes: ()
    changed: Callable[[World], World] = lambda world: world


def _reports_are_lost(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    """As long as other faults may last."""
    return (Weather(from_us=0, until_us=2 * FAULTS_SPAN_US, lost_percent=50, only="Report"),)


def _nodes_crash_again_and_again(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    """For a moment each: blocks of build sides are lost, and the others' still come in."""
    begins = [
        (node, draw.randrange(FAULTS_SPAN_US // 100, FAULTS_SPAN_US // 5))
        for node in range(nodes)
        for _ in "123"
    ]
    return [Crash(from_us=at, until_us=at + 10_000, node=node) for node, at in begins]


def _nodes_learn_alone(world: World) -> World:
    """With one worker the blocks that a node has read are those that it prunes by, and nobody else prunes."""
    return replace(
        world,
        warehouse=replace(world.warehouse, nodes=max(2, world.warehouse.nodes), workers=1),
        metadata=replace(world.metadata, keeping=Keeping.FOOTERS),
    )


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


def _build_sides_are_known(world: World) -> World:
    """How many parts a summary has is known before nodes crash."""
    return replace(_summaries_are_exact(world), metadata=replace(world.metadata, bytes_per_s=500_000_000))


def _metadata_comes_slowly(world: World) -> World:
    """Blocks are read before it is known how many there are, whoever has asked for them before."""
    slow = replace(world.metadata, keeping=Keeping.COLUMNAR, blocks_per_chunk=2, bytes_per_s=200, hot=False)
    return replace(_summaries_are_exact(world), metadata=slow)


# Of few rows in the key's order a build block has keys that no other has, and a probe block asks for these.
_JOINS = Theme(
    kinds=(Kind.JOIN,),
    queries_max=12,
    blocks=(20,),
    rows_max=2,
    spans=(30,),
    laid_by=("k",),
    keys=("k",),
    filtered=0.1,
    trouble=_nodes_crash_again_and_again,
)
_THEMES = (
    *[Theme()] * 2,
    # All rows tie, and it takes several reports to have enough of them.
    Theme(
        kinds=(Kind.TOPK,),
        nodes_max=2,
        queries_max=12,
        blocks=(12,),
        rows_max=3,
        spans=(1,),
        keys=("k",),
        filtered=0.1,
        wanted=(2, 3, 5, 10),
        trouble=_reports_are_lost,
    ),
    Theme(
        kinds=(Kind.TOPK,),
        nodes_max=3,
        queries_max=12,
        blocks=(3, 40, 40),
        spans=(30,),
        filtered=0.2,
        wanted=(10, 20, 40),
        changed=_nodes_learn_alone,
    ),
    # Where the best blocks have no row that is asked for, who takes them for matching skips the others.
    Theme(
        kinds=(Kind.LIMIT, Kind.LIMIT, Kind.TOPK),
        queries_max=16,
        blocks=(20,),
        spans=(30,),
        laid_by=("k",),
        keys=("k",),
        filtered=1.0,
        wanted=(2, 5, 10, 20),
        changed=_planning_has_no_time,
    ),
    dataclasses.replace(_JOINS, changed=_build_sides_are_known),
    dataclasses.replace(_JOINS, changed=_metadata_comes_slowly),
    Theme(kinds=(Kind.FILTER,), filtered=1.0, changed=_metadata_comes_slowly),
)


def small_world(seed: int) -> SmallWorld:
    """The world of a seed, with faults; themes take turns."""
    return themed_world(seed, _THEMES[seed % len(_THEMES)])


def themed_world(seed: int, theme: Theme) -> SmallWorld:
    """The world that a seed draws of a theme, with faults."""
    draw = random.Random(f"{seed}/world")
    world = theme.changed(drawn_world(draw, theme.nodes_max))
    tables: dict[str, Table] = {
        name: drawn_table(
            draw,
            name,
            blocks=theme.blocks,
            rows_max=theme.rows_max,
            spans=theme.spans,
            laid_by=theme.laid_by,
        )
        for name in _TABLES
    }
    queries = drawn_queries(
        draw,
        _TABLES,
        theme.kinds,
        most=theme.queries_max,
        filtered=theme.filtered,
        wanted=theme.wanted,
        keys=theme.keys,
    )
    troubles = random.Random(f"{seed}/faults")
    nodes = world.warehouse.nodes
    plan = faults.drawn(troubles, nodes=nodes, queries=len(queries), span_us=FAULTS_SPAN_US)
    return SmallWorld(
        world=world, tables=tables, queries=queries, faults=(*plan, *theme.trouble(troubles, nodes))
    )
