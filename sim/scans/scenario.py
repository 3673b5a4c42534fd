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
from sim.kernel.scenario_schema import (
    Count,
    IsolationClaim,
    Positive,
    ScenarioSchema,
    Violation,
    convert_scenario,
    parse_toml,
)
from sim.kernel.trace import Trace
from sim.scans import faults as faulty
from sim.scans.checks import violations
from sim.scans.drawing import TYPES
from sim.scans.faults import AnyFault
from sim.scans.layouts import FileLayout
from sim.scans.measures import latencies_us, measures
from sim.scans.model import ScanWorld
from sim.scans.queries import Query
from sim.scans.run import ScanRun
from sim.scans.sql import parse_query
from sim.scans.synthetic_tables import SyntheticColumn, SyntheticTable, synthetic_table
from sim.scans.tables import ID, Row, RowTable, ScannedTable, metadata_table
from sim.scans.workload import Workload, draw_queries
from sim.scans.worlds import SmallScanWorld, small_world

SYNTHETIC_TYPES: Mapping[str, Type] = {"k": LONG, "u": LONG}


class TableSpec(Model, frozen=True, kw_only=True):
    """A table of rows: `id` is unique, `k` a whole number, `v` a double, `s` a text.

    Attributes:
        spread: True if the table is synthetic: it has no rows, only distributions of `k` and `u`
        (`sim.scans.synthetic_tables`); `u` takes each of its values in every block. Such tables may have
        millions of blocks.
        columns, blocks_per_file, pages_per_block, page_kinds: Of the layout (`sim.scans.layouts`).
        keys: The number of distinct values of `k`, or of `u`, from 0 on; 0 is the number of rows.
        order: The order of rows by `k`: over all blocks; within each block, at random, over all values; or
        within each block, sorted, over all values.
        nulls_percent: Of `k`, `v` and `s` each.
        exact: True if bounds are attained, and marked so.
    """

    name: str
    blocks: Positive
    rows_per_block: Positive
    block_bytes: Positive = 16_000_000
    spread: bool = False
    columns: Positive = 1
    blocks_per_file: Positive = 1
    pages_per_block: Positive = 1
    page_kinds: Annotated[int, msgspec.Meta(ge=1, le=6)] = 1
    keys: Count = 0
    order: Literal["ascending", "descending", "random", "within"] = "ascending"
    nulls_percent: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    exact: bool = True


class QuerySpec(Model, frozen=True, kw_only=True):
    """A query.

    Attributes:
        build: The build side of a join; by default the right one.
        columns_read: The number of columns that it needs of each block; 0 is all.
    """

    sql: str
    arrives_us: Count = 0
    build: str = ""
    columns_read: Count = 0


class DrawnScanFaults(Model, frozen=True, kw_only=True):
    """Faults that are drawn for each seed, in addition to the named ones."""

    count_max: Positive = 5
    span_us: Positive = 2_000_000


class Scenario(ScenarioSchema, frozen=True, kw_only=True):
    """A scenario file of scans.

    Attributes:
        drawn: True if world, tables, queries and faults are drawn from each seed, and nothing is named.
        workload: Queries that are drawn for each seed, in addition to the named ones.
    """

    simulates: Literal["scans"] = "scans"
    drawn: bool = False
    world: ScanWorld = ScanWorld()
    table: tuple[TableSpec, ...] = ()
    query: tuple[QuerySpec, ...] = ()
    workload: Workload | None = None
    fault: tuple[AnyFault, ...] = ()
    faults_drawn: DrawnScanFaults | None = None

    def validate(self) -> "Scenario":
        """Return this scenario if its parts go together.

        Raises:
            InputError: its parts do not go together, or it asks for something that the simulator lacks.
        """
        named = bool(self.table or self.query or self.workload or self.fault or self.faults_drawn)
        if self.drawn and (named or self.world != ScanWorld()):
            raise InputError("`draw_faults` draws the world, tables, queries and faults: name none of them")
        if not self.drawn and not (self.table and (self.query or self.workload)):
            raise InputError("it needs a [[table]] and a [[query]] or [workload], or `draw_faults = true`")
        for spec in self.table:
            if spec.spread and (spec.nulls_percent or not spec.exact):
                raise InputError(f"table {spec.name}: without rows it has no NULLs, and its bounds are exact")
        _check(self.fault, self.world.warehouse.nodes, len(_queries(self, self.seeds.first)))
        return self

    def play(self, seed: int) -> "ScanScenarioRun":
        """Run the scenario with one seed."""
        return ScanScenarioRun(world_of_seed(self, seed).run(seed))


@dataclass(frozen=True, slots=True)
class ScanScenarioRun:
    """A run of a scenario of scans, and its outcome."""

    run: ScanRun

    @property
    def trace(self) -> Trace:
        """The events of the run."""
        return self.run.trace

    def measures(self) -> Mapping[str, float]:
        """Return the measures (`sim.scans.measures`)."""
        return measures(self.run)

    def latencies_us(self) -> Mapping[str, int]:
        """Return the latency of each query that was answered."""
        return latencies_us(self.run)

    def violations(self) -> Iterable[Violation]:
        """Return the violated invariants (`sim.scans.checks`)."""
        return violations(self.run)

    def histories(self) -> Iterable[IsolationClaim]:
        """Return no history: scans are no transactions."""
        return ()

    def results(self) -> Mapping[str, str]:
        """Return no results: SQL permits several answers to many queries, and each is checked by itself."""
        return {}


def scenario(text: str) -> Scenario:
    """Return the scenario that a TOML text describes.

    Raises:
        InputError: the text is no TOML, or has a key or value that a scenario cannot have.
    """
    return convert_scenario(parse_toml(text), Scenario)


def world_of_seed(scenario_: Scenario, seed: int) -> SmallScanWorld:
    """Return the world that one seed runs."""
    if scenario_.drawn:
        return small_world(seed)
    queries = _queries(scenario_, seed)
    plan: tuple[AnyFault, ...] = scenario_.fault
    if scenario_.faults_drawn is not None:
        plan += faulty.draw_faults(
            random.Random(f"{seed}/faults"),
            nodes=scenario_.world.warehouse.nodes,
            queries=len(queries),
            span_us=scenario_.faults_drawn.span_us,
            count_max=scenario_.faults_drawn.count_max,
        )
    tables: dict[str, ScannedTable] = {spec.name: make_table(spec, seed) for spec in scenario_.table}
    return SmallScanWorld(world=scenario_.world, tables=tables, queries=queries, faults=plan)


def _queries(scenario_: Scenario, seed: int) -> list[Query]:
    specs = list(scenario_.query)
    if scenario_.workload is not None:
        keys = _keys_of_workload(scenario_.table, scenario_.workload)
        draw = random.Random(f"{seed}/workload")
        specs += [
            QuerySpec(sql=text, arrives_us=arrives)
            for arrives, text in draw_queries(draw, scenario_.workload, keys)
        ]
    types = {spec.name: SYNTHETIC_TYPES if spec.spread else TYPES for spec in scenario_.table}
    return [
        replace(
            parse_query(f"q{at}", spec.sql, types, build=spec.build, arrives_us=spec.arrives_us),
            columns_read=spec.columns_read,
        )
        for at, spec in enumerate(specs)
    ]


def _keys_of_workload(tables: Sequence[TableSpec], workload: Workload) -> int:
    """Return the number of values of the columns of its tables."""
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


def make_table(spec: TableSpec, seed: int) -> ScannedTable:
    """Create a table of a scenario, with complete metadata."""
    if spec.spread:
        return _synthetic_table(spec)
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
        values = {
            name: None if draw.random() * 100 < spec.nulls_percent else cell for name, cell in cells.items()
        }
        rows.append({ID: at, **values})
    blocks = tuple(tuple(rows[at : at + spec.rows_per_block]) for at in range(0, count, spec.rows_per_block))
    facts = [
        {name: _statistics([row[name] for row in block], spec.exact) for name in TYPES} for block in blocks
    ]
    return RowTable(
        name=spec.name,
        types=TYPES,
        blocks=blocks,
        metadata=metadata_table(spec.name, TYPES, blocks, facts),
        layout=_layout(spec),
    )


def _layout(spec: TableSpec) -> FileLayout:
    sizes = np.full(spec.blocks, spec.block_bytes, np.int64)
    return FileLayout(
        sizes=sizes,
        columns=spec.columns,
        blocks_per_file=spec.blocks_per_file,
        pages_per_block=spec.pages_per_block,
        page_kinds=spec.page_kinds,
    )


def _synthetic_table(spec: TableSpec) -> SyntheticTable:
    keys = _keys(spec)
    low, high = np.zeros(spec.blocks, np.int64), np.full(spec.blocks, keys - 1)
    everywhere = SyntheticColumn(low=low, high=high)
    clustered = everywhere
    if spec.order == "within":
        clustered = replace(everywhere, is_sorted=True)
    elif spec.order != "random":
        # Python's whole numbers, since blocks times keys may exceed 64 bits.
        ends = [at * keys // spec.blocks for at in range(spec.blocks + 1)]
        begins, stops = np.array(ends[:-1], np.int64), np.array(ends[1:], np.int64)
        if spec.order == "descending":
            begins, stops = begins[::-1], stops[::-1]
        clustered = SyntheticColumn(low=begins, high=np.maximum(begins, stops - 1), is_sorted=True)
    return synthetic_table(
        spec.name,
        {"k": clustered, "u": everywhere},
        np.full(spec.blocks, spec.rows_per_block, np.int64),
        _layout(spec),
    )


def _statistics(values: Sequence[Value | None], exact: bool) -> dict[str, object]:
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
