"""Draw a whole small world from one seed: its tables, its queries, and its faults."""

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from sim.scans import faults
from sim.scans.drawing import BLOCKS, KEYS, KINDS, LAID_BY, WANTED, drawn_queries, drawn_table, drawn_world
from sim.scans.faults import AnyFault, Crash, ScanMessageFaults
from sim.scans.model import MetadataLocation, ScanWorld
from sim.scans.queries import Query, QueryKind
from sim.scans.run import CORRECT, ScanImplementations, ScanRun, run
from sim.scans.tables import ScannedTable

FAULTS_SPAN_US = 2_000_000
_TABLES = ("t", "u")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallScanWorld:
    """The drawn input of a run."""

    world: ScanWorld
    tables: Mapping[str, ScannedTable]
    queries: Sequence[Query]
    faults: Sequence[AnyFault]

    def run(self, seed: int, implementations: ScanImplementations = CORRECT) -> ScanRun:
        """Run the world; the seed decides all else: durations, and the fates of messages."""
        return run(
            self.world, self.tables, self.queries, self.faults, seed=seed, implementations=implementations
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTheme:
    """The theme of a seed: without one, several rare things hardly ever come together.

    Source: swarm testing (Groce, Zhang, Eide, Chen and Regehr, ISSTA 2012).

    Attributes:
        nodes_max, queries_max: The most nodes and queries.
        blocks: Choices for the most blocks of a table.
        rows_max: The mean number of rows of a block, at most.
        spans: Choices for the number of distinct values of a key.
        laid_by: Choices for the column by which a table is laid out; None is no order.
        keys: Choices for the column by which a query sorts or joins.
        filtered: The share of scans with a predicate.
        wanted: Choices for the count of a LIMIT or a top-k.
        extra_faults: Draws faults in addition to the usual ones, for so many nodes.
        adapt_world: Adapts the drawn world to the theme.
    """

    kinds: Sequence[QueryKind] = KINDS
    nodes_max: int = 5
    queries_max: int = 6
    blocks: Sequence[int] = BLOCKS
    rows_max: int = 6
    spans: Sequence[int] = (2, 6, 30, 30)
    laid_by: Sequence[str | None] = LAID_BY
    keys: Sequence[str] = KEYS
    filtered: float = 0.8
    wanted: Sequence[int] = WANTED
    extra_faults: Callable[[random.Random, int], Sequence[AnyFault]] = lambda draw, nodes: ()
    adapt_world: Callable[[ScanWorld], ScanWorld] = lambda world: world


def _reports_are_lost(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    """Lose reports for as long as other faults may last."""
    return (ScanMessageFaults(from_us=0, until_us=2 * FAULTS_SPAN_US, lost_percent=50, only="Report"),)


def _nodes_crash_again_and_again(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    """Crash nodes for a moment each: blocks of build sides are lost while others still arrive."""
    begins = [
        (node, draw.randrange(FAULTS_SPAN_US // 100, FAULTS_SPAN_US // 5))
        for node in range(nodes)
        for _ in "123"
    ]
    return [Crash(from_us=at, until_us=at + 10_000, node=node) for node, at in begins]


def _nodes_learn_alone(world: ScanWorld) -> ScanWorld:
    """Let a node prune by the blocks that it read itself: it has one worker, and nobody else prunes."""
    return replace(
        world,
        warehouse=replace(world.warehouse, nodes=max(2, world.warehouse.nodes), workers=1),
        metadata=replace(world.metadata, keeping=MetadataLocation.FOOTERS),
    )


def _planning_has_no_time(world: ScanWorld) -> ScanWorld:
    """Leave most of the predicate to nodes, which tell what they see before they report."""
    return replace(
        world,
        warehouse=replace(world.warehouse, blocks_per_task=4),
        metadata=replace(world.metadata, keeping=MetadataLocation.COLUMNAR),
        control=replace(world.control, classify_ns=50_000_000, compile_us_max=1, heartbeat_us=20_000),
    )


def _summaries_are_exact(world: ScanWorld) -> ScanWorld:
    """Make summaries exact, and complete before a probe side begins, so that a missing key is noticed."""
    control = replace(world.control, summary_wait_us=10_000_000, summary_bytes_max=65_536)
    return replace(world, control=control)


def _build_sides_are_complete(world: ScanWorld) -> ScanWorld:
    """Make the number of a summary's parts known before nodes crash."""
    return replace(_summaries_are_exact(world), metadata=replace(world.metadata, bytes_per_s=500_000_000))


def _metadata_comes_slowly(world: ScanWorld) -> ScanWorld:
    """Let blocks be read before their number is known, whichever query read them before."""
    slow = replace(
        world.metadata, keeping=MetadataLocation.COLUMNAR, blocks_per_chunk=2, bytes_per_s=200, hot=False
    )
    return replace(_summaries_are_exact(world), metadata=slow)


# Blocks with few rows, in the key's order, make build blocks whose keys no other block has.
_JOINS = WorldTheme(
    kinds=(QueryKind.JOIN,),
    queries_max=12,
    blocks=(20,),
    rows_max=2,
    spans=(30,),
    laid_by=("k",),
    keys=("k",),
    filtered=0.1,
    extra_faults=_nodes_crash_again_and_again,
)
_THEMES = (
    *[WorldTheme()] * 2,
    # All rows tie, and it takes several reports to have enough of them.
    WorldTheme(
        kinds=(QueryKind.TOPK,),
        nodes_max=2,
        queries_max=12,
        blocks=(12,),
        rows_max=3,
        spans=(1,),
        keys=("k",),
        filtered=0.1,
        wanted=(2, 3, 5, 10),
        extra_faults=_reports_are_lost,
    ),
    WorldTheme(
        kinds=(QueryKind.TOPK,),
        nodes_max=3,
        queries_max=12,
        blocks=(3, 40, 40),
        spans=(30,),
        filtered=0.2,
        wanted=(10, 20, 40),
        adapt_world=_nodes_learn_alone,
    ),
    # The best blocks have no matching row, so an engine that takes them for matching skips the others.
    WorldTheme(
        kinds=(QueryKind.LIMIT, QueryKind.LIMIT, QueryKind.TOPK),
        queries_max=16,
        blocks=(20,),
        spans=(30,),
        laid_by=("k",),
        keys=("k",),
        filtered=1.0,
        wanted=(2, 5, 10, 20),
        adapt_world=_planning_has_no_time,
    ),
    dataclasses.replace(_JOINS, adapt_world=_build_sides_are_complete),
    dataclasses.replace(_JOINS, adapt_world=_metadata_comes_slowly),
    WorldTheme(kinds=(QueryKind.FILTER,), filtered=1.0, adapt_world=_metadata_comes_slowly),
)


def small_world(seed: int) -> SmallScanWorld:
    """Return the world of a seed, with its faults; themes take turns."""
    return themed_world(seed, _THEMES[seed % len(_THEMES)])


def themed_world(seed: int, theme: WorldTheme) -> SmallScanWorld:
    """Return the world that a seed draws of a theme, with its faults."""
    draw = random.Random(f"{seed}/world")
    world = theme.adapt_world(drawn_world(draw, theme.nodes_max))
    tables: dict[str, ScannedTable] = {
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
    faults_draw = random.Random(f"{seed}/faults")
    nodes = world.warehouse.nodes
    plan = faults.draw_faults(faults_draw, nodes=nodes, queries=len(queries), span_us=FAULTS_SPAN_US)
    return SmallScanWorld(
        world=world, tables=tables, queries=queries, faults=(*plan, *theme.extra_faults(faults_draw, nodes))
    )
