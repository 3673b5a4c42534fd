"""A whole small world from one seed: what is asked of which tables where, and what goes wrong."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sim import faults
from sim.drawing import KINDS, drawn_queries, drawn_table, drawn_world
from sim.faults import AnyFault, Crash, Weather
from sim.model import World
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
    """What a seed is about: where everything is drawn at once, rare conjunctions never come.

    Source: swarm testing (Groce, Zhang, Eide, Chen and Regehr, ISSTA 2012).

    Attributes:
        nodes_max, blocks_max: Of the warehouse, and of a table.
        spans: Of which one is how many values a key has.
        filtered: The share of scans with a predicate.
        trouble: A fault beside those that are drawn, for so many nodes.
    """

    kinds: Sequence[Kind] = KINDS
    nodes_max: int = 5
    blocks_max: int = 20
    spans: Sequence[int] = (2, 6, 30, 30)
    filtered: float = 0.8
    trouble: Callable[[random.Random, int], Sequence[AnyFault]] = lambda draw, nodes: ()


def _reports_are_lost(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    return (Weather(from_us=0, until_us=FAULTS_SPAN_US, lost_percent=50, only="Report"),)


def _a_node_crashes_soon(draw: random.Random, nodes: int) -> Sequence[AnyFault]:
    begin = draw.randrange(FAULTS_SPAN_US // 10)
    return (Crash(from_us=begin, until_us=begin + FAULTS_SPAN_US // 2, node=draw.randrange(nodes)),)


_THEMES = (
    *[Theme()] * 3,
    Theme(kinds=(Kind.TOPK,), nodes_max=2, blocks_max=8, spans=(1, 2), trouble=_reports_are_lost),
    Theme(kinds=(Kind.TOPK,), nodes_max=3, spans=(30,), filtered=0.2),
    Theme(kinds=(Kind.JOIN,), spans=(30,), filtered=0.2, trouble=_a_node_crashes_soon),
)


def small_world(seed: int) -> SmallWorld:
    """The world of a seed, with faults."""
    draw = random.Random(f"{seed}/world")
    theme = random.Random(f"{seed}/theme").choice(_THEMES)
    world = drawn_world(draw, theme.nodes_max)
    tables: dict[str, Table] = {
        name: drawn_table(draw, name, blocks_max=theme.blocks_max, rows_max=ROWS_MAX, spans=theme.spans)
        for name in _TABLES
    }
    queries = drawn_queries(draw, _TABLES, theme.kinds, filtered=theme.filtered)
    troubles = random.Random(f"{seed}/faults")
    nodes = world.warehouse.nodes
    plan = faults.drawn(troubles, nodes=nodes, queries=len(queries), span_us=FAULTS_SPAN_US)
    return SmallWorld(
        world=world, tables=tables, queries=queries, faults=(*plan, *theme.trouble(troubles, nodes))
    )
