"""A whole small world from one seed: what is asked of which tables where, and what goes wrong."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from sim import faults
from sim.drawing import drawn_queries, drawn_table, drawn_world
from sim.faults import AnyFault
from sim.model import World
from sim.queries import Query
from sim.run import RIGHT, Cast, Run, run
from sim.tables import Table

BLOCKS_MAX, ROWS_MAX = 20, 6
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


def small_world(seed: int) -> SmallWorld:
    """The world of a seed, with faults."""
    draw = random.Random(f"{seed}/world")
    world = drawn_world(draw)
    if random.Random(f"{seed}/guided").random() < 0.5:
        world = replace(world, warehouse=replace(world.warehouse, guided=True))
    tables: dict[str, Table] = {
        name: drawn_table(draw, name, blocks_max=BLOCKS_MAX, rows_max=ROWS_MAX) for name in _TABLES
    }
    queries = drawn_queries(draw, _TABLES)
    plan = faults.drawn(
        random.Random(f"{seed}/faults"),
        nodes=world.warehouse.nodes,
        queries=len(queries),
        span_us=FAULTS_SPAN_US,
    )
    return SmallWorld(world=world, tables=tables, queries=queries, faults=plan)
