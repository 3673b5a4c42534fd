"""Scenarios of scans: a world, queries, faults, and what shows that the claim was put to the test."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import msgspec
import numpy as np

from pruning.errors import InputError
from pruning.expressions.types import LONG, Type, Value
from sim.kernel.model import Model
from sim.kernel.scenario_schema import Claimed, Count, Judgeable, Positive, Violation, converted, tables_of
from sim.kernel.trace import Trace
from sim.scans import faults as faulty
from sim.scans.checks import violations
from sim.scans.drawing import TYPES
from sim.scans.faults import AnyFault
from sim.scans.layouts import Layout
from sim.scans.measures import latencies_us, measures
from sim.scans.model import World
from sim.scans.queries import Query
from sim.scans.run import Run
from sim.scans.sql import query_of
from sim.scans.synthetic_tables import Spread, SpreadTable, spread_table
from sim.scans.tables import ID, Row, RowTable, Table, described
from sim.scans.workload import Workload, texts
from sim.scans.worlds import SmallWorld, small_world

SPREAD_TYPES: Mapping[str, Type] = {"k": LONG, "u": LONG}


class TableSpec(Model, frozen=True, kw_only=True):
    """A table of rows: `id` is a number of its own for each, `k` a whole number, `v` a double, `s` a text.

    Attributes:
        spread: Whether the table has no rows, but how their `k` and `u` are spread
            (`sim.scans.synthetic_tables`); `u` takes each of its values in every block.
            Such tables may have millions of blocks.
        columns, blocks_per_file, pages_per_block: Of the layout (`sim.scans.layouts`).
        keys: How many different values `k`, or `u`, has, from 0 on; 0 is as many as there are rows.
        order: How the rows lie by `k`: from the first block to the last; in each block all of them, by
            chance; or in each block all of them, in order.
        nulls_percent: Of `k`, `v` and `s` each.
        exact: Whether bounds are attained, and said to be.
    """

    name: str
    blocks: Positive
    rows_per_block: Positive
    block_bytes: Positive = 16_000_000
    spread: bool = False
    columns: Positive = 1
    blocks_per_file: Positive = 1
    pages_per_block: Positive = 1
    keys: Count = 0
    order: Literal["ascending", "descending", "random", "within"] = "ascending"
    nulls_percent: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    exact: bool = True


class QuerySpec(Model, frozen=True, kw_only=True):
    """A query.

    Attributes:
        build: The build side of a join; the right one unless it is named.
        columns_read: How many columns of each block it needs; 0 is all.
    """

    sql: str
    arrives_us: Count = 0
    build: str = ""
    columns_read: Count = 0


class DrawnFaults(Model, frozen=True, kw_only=True):
    """Faults that each seed draws, beside those that are named."""

    count_max: Positive = 5
    span_us: Positive = 2_000_000


class Scenario(Claimed, frozen=True, kw_only=True):
    """One file.

    Attributes:
        drawn: Whether world, tables, queries and faults are drawn from each seed, and nothing is named.
        workload: Queries that each seed draws, beside those that are named.
    """

    simulates: Literal["scans"] = "scans"
    drawn: bool = False
    world: World = World()
    table: tuple[TableSpec, ...] = ()
    query: tuple[QuerySpec, ...] = ()
    workload: Workload | None = None
    fault: tuple[AnyFault, ...] = ()
    faults_drawn: DrawnFaults | None = None

    def checked(self) -> "Scenario":
        """The same scenario.

        Raises:
            InputError: its parts do not go together, or it asks for what the simulator has not.
        """
        named = bool(self.table or self.query or self.workload or self.fault or self.faults_drawn)
        if self.drawn and (named or self.world != World()):
            raise InputError("`drawn` draws the world, tables, queries and faults: name none of them")
        if not self.drawn and not (self.table and (self.query or self.workload)):
            raise InputError("it needs a [[table]] and a [[query]] or [workload], or `drawn = true`")
        for spec in self.table:
            if spec.spread and (spec.nulls_percent or not spec.exact):
                raise InputError(f"table {spec.name}: without rows it has no NULLs, and its bounds are exact")
        _check(self.fault, self.world.warehouse.nodes, len(_queries(self, self.seeds.first)))
        return self

    def play(self, seed: int) -> "Scanned":
        """The run of one seed."""
        return Scanned(of_seed(self, seed).run(seed))


@dataclass(frozen=True, slots=True)
class Scanned:
    """A run of scans, and what came of it."""

    run: Run

    @property
    def trace(self) -> Trace:
        """What happened."""
        return self.run.trace

    def measures(self) -> Mapping[str, float]:
        """In numbers (`sim.scans.measures`)."""
        return measures(self.run)

    def latencies_us(self) -> Mapping[str, int]:
        """Of each query that was answered."""
        return latencies_us(self.run)

    def violations(self) -> Iterable[Violation]:
        """What did not hold (`sim.scans.checks`)."""
        return violations(self.run)

    def histories(self) -> Iterable[Judgeable]:
        """Scans are no transactions."""
        return ()

    def results(self) -> Mapping[str, str]:
        """SQL permits several answers to many queries, and each is judged by itself."""
        return {}


def scenario(text: str) -> Scenario:
    """The scenario that a text describes.

    Raises:
        InputError: it is no TOML, or says what a scenario cannot.
    """
    return converted(tables_of(text), Scenario)


def of_seed(given: Scenario, seed: int) -> SmallWorld:
    """What one seed runs."""
    if given.drawn:
        return small_world(seed)
    queries = _queries(given, seed)
    plan: tuple[AnyFault, ...] = given.fault
    if given.faults_drawn is not None:
        plan += faulty.drawn(
            random.Random(f"{seed}/faults"),
            nodes=given.world.warehouse.nodes,
            queries=len(queries),
            span_us=given.faults_drawn.span_us,
            count_max=given.faults_drawn.count_max,
        )
    tables: dict[str, Table] = {spec.name: made(spec, seed) for spec in given.table}
    return SmallWorld(world=given.world, tables=tables, queries=queries, faults=plan)


def _queries(given: Scenario, seed: int) -> list[Query]:
    specs = list(given.query)
    if given.workload is not None:
        keys = _keys_of_workload(given.table, given.workload)
        draw = random.Random(f"{seed}/workload")
        specs += [
            QuerySpec(sql=text, arrives_us=arrives) for arrives, text in texts(draw, given.workload, keys)
        ]
    types = {spec.name: SPREAD_TYPES if spec.spread else TYPES for spec in given.table}
    return [
        replace(
            query_of(f"q{at}", spec.sql, types, build=spec.build, arrives_us=spec.arrives_us),
            columns_read=spec.columns_read,
        )
        for at, spec in enumerate(specs)
    ]


def _keys_of_workload(tables: Sequence[TableSpec], workload: Workload) -> int:
    """How many values the columns of its tables have."""
    if workload.build == workload.table:
        raise InputError(f"workload: {workload.table} cannot be joined with itself")
    keys = {spec.name: _keys(spec) for spec in tables if spec.spread}
    names = [workload.table, *([workload.build] if workload.build else [])]
    for name in names:
        if name not in keys:
            raise InputError(f"workload: {name} is no table without rows")
    first, last = keys[names[0]], keys[names[-1]]
    if first != last:
        raise InputError(f"workload: {names[-1]} has {last} keys, {names[0]} {first}")
    return first


def _keys(spec: TableSpec) -> int:
    return spec.keys or spec.blocks * spec.rows_per_block


def _check(plan: Sequence[AnyFault], nodes: int, queries: int) -> None:
    for fault in plan:
        node = getattr(fault, "node", 0)
        if not 0 <= node < nodes:
            raise InputError(f"a fault befalls node {node}, and there are nodes 0 to {nodes - 1}")
        if not 0 <= getattr(fault, "query", 0) < queries:
            raise InputError(f"a query is cancelled that is not one of the {queries}")
        if fault.from_us < 0 or fault.until_us < fault.from_us:
            raise InputError(f"a fault lasts from {fault.from_us} us until {fault.until_us} us")


def made(spec: TableSpec, seed: int) -> Table:
    """A table of a scenario, with metadata that tells all of it."""
    if spec.spread:
        return _spread(spec)
    draw = random.Random(f"{seed}/table/{spec.name}")
    count = spec.blocks * spec.rows_per_block
    keys = [at * (spec.keys or count) // count for at in range(count)]
    if spec.order == "random":
        draw.shuffle(keys)
    elif spec.order == "descending":
        keys.reverse()
    elif spec.order == "within":
        keys = [key for at in range(spec.blocks) for key in keys[at :: spec.blocks]]
    rows: list[Row] = []
    for at, key in enumerate(keys):
        cells: dict[str, Value | None] = {"k": key, "v": draw.random(), "s": f"{key:06d}".encode()}
        known = {
            name: None if draw.random() * 100 < spec.nulls_percent else cell for name, cell in cells.items()
        }
        rows.append({ID: at, **known})
    blocks = tuple(tuple(rows[at : at + spec.rows_per_block]) for at in range(0, count, spec.rows_per_block))
    facts = [{name: _facts([row[name] for row in block], spec.exact) for name in TYPES} for block in blocks]
    return RowTable(
        name=spec.name,
        types=TYPES,
        blocks=blocks,
        metadata=described(spec.name, TYPES, blocks, facts),
        layout=_layout(spec),
    )


def _layout(spec: TableSpec) -> Layout:
    sizes = np.full(spec.blocks, spec.block_bytes, np.int64)
    return Layout(
        sizes=sizes,
        columns=spec.columns,
        blocks_per_file=spec.blocks_per_file,
        pages_per_block=spec.pages_per_block,
    )


def _spread(spec: TableSpec) -> SpreadTable:
    keys = _keys(spec)
    low, high = np.zeros(spec.blocks, np.int64), np.full(spec.blocks, keys - 1)
    everywhere = Spread(low=low, high=high)
    clustered = everywhere
    if spec.order == "within":
        clustered = replace(everywhere, is_sorted=True)
    elif spec.order != "random":
        # Whole numbers of any size: blocks times keys may exceed 64 bits.
        ends = [at * keys // spec.blocks for at in range(spec.blocks + 1)]
        begins, stops = np.array(ends[:-1], np.int64), np.array(ends[1:], np.int64)
        if spec.order == "descending":
            begins, stops = begins[::-1], stops[::-1]
        clustered = Spread(low=begins, high=np.maximum(begins, stops - 1), is_sorted=True)
    return spread_table(
        spec.name,
        {"k": clustered, "u": everywhere},
        np.full(spec.blocks, spec.rows_per_block, np.int64),
        _layout(spec),
    )


def _facts(values: Sequence[Value | None], exact: bool) -> dict[str, object]:
    held = sorted(value for value in values if value is not None)
    return {
        "null_count": len(values) - len(held),
        "nan_count": 0,
        "byte_count": None,
        "min": held[0] if held else None,
        "max": held[-1] if held else None,
        "min_exact": exact,
        "max_exact": exact,
    }
