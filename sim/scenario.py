"""Scenario files: a claim, a world, queries, faults, and what shows that the claim was put to the test.

A key that is not known is an error, and so is a value of another type; the sentence names both. Units are in
the names of keys.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from pruning.errors import InputError
from pruning.expressions.types import Value
from sim import faults as faulty
from sim.drawing import TYPES
from sim.faults import AnyFault
from sim.model import Model, World
from sim.sql import query_of
from sim.tables import ID, Row, RowTable, Table, described
from sim.worlds import SmallWorld, small_world

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Seeds(Model, frozen=True, kw_only=True):
    """A range of seeds."""

    first: Count = 0
    count: Positive = 1


class TableSpec(Model, frozen=True, kw_only=True):
    """A table of rows: `id` is a number of its own for each, `k` a whole number, `v` a double, `s` a text.

    Attributes:
        keys: How many different values `k` has, from 0 on; 0 is as many as there are rows.
        order: How the rows lie by `k`, from the first block to the last.
        nulls_percent: Of `k`, `v` and `s` each.
        exact: Whether bounds are attained, and said to be.
    """

    name: str
    blocks: Positive
    rows_per_block: Positive
    block_bytes: Positive = 16_000_000
    keys: Count = 0
    order: Literal["ascending", "descending", "random"] = "ascending"
    nulls_percent: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    exact: bool = True


class QuerySpec(Model, frozen=True, kw_only=True):
    """A query; `build` names the build side of a join."""

    sql: str
    arrives_us: Count = 0
    build: str = ""


class DrawnFaults(Model, frozen=True, kw_only=True):
    """Faults that each seed draws, beside those that are named."""

    count_max: Positive = 5
    span_us: Positive = 2_000_000


class Bounds(Model, frozen=True, kw_only=True):
    """What a measure must be, in each seed; `some` must be reached in one of them."""

    min: float | None = None
    max: float | None = None
    some: float | None = None


class Scenario(Model, frozen=True, kw_only=True):
    """One file.

    Attributes:
        drawn: Whether world, tables, queries and faults are drawn from each seed, and nothing is named.
        expect: Of measures by their names (`sim.measures`).
    """

    title: str
    claim: str
    seeds: Seeds = Seeds()
    drawn: bool = False
    world: World = World()
    table: tuple[TableSpec, ...] = ()
    query: tuple[QuerySpec, ...] = ()
    fault: tuple[AnyFault, ...] = ()
    faults_drawn: DrawnFaults | None = None
    expect: dict[str, Bounds] = msgspec.field(default_factory=dict)


def read(path: Path) -> Scenario:
    """The scenario of a file.

    Raises:
        InputError: there is no such file, it is no TOML, or it says what a scenario cannot.
    """
    try:
        return scenario(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def scenario(text: str) -> Scenario:
    """The scenario that a text describes.

    Raises:
        InputError: it is no TOML, or says what a scenario cannot.
    """
    try:
        found = msgspec.convert(tomllib.loads(text), Scenario)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"it is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise InputError(str(error).replace("`$.", "`").replace("Object contains", "there is an")) from error
    named = bool(found.table or found.query or found.fault or found.faults_drawn)
    if found.drawn and (named or found.world != World()):
        raise InputError("`drawn` draws the world, tables, queries and faults: name none of them")
    if not found.drawn and not (found.table and found.query):
        raise InputError("it needs a [[table]] and a [[query]], or `drawn = true`")
    # What cannot be asked shows before the first run.
    of_seed(found, found.seeds.first)
    return found


def of_seed(given: Scenario, seed: int) -> SmallWorld:
    """What one seed runs.

    Raises:
        InputError: a query asks for what the simulator has not.
    """
    if given.drawn:
        return small_world(seed)
    types = {spec.name: TYPES for spec in given.table}
    queries = [
        query_of(f"q{at}", spec.sql, types, build=spec.build, arrives_us=spec.arrives_us)
        for at, spec in enumerate(given.query)
    ]
    plan: tuple[AnyFault, ...] = given.fault
    if given.faults_drawn is not None:
        plan += faulty.drawn(
            random.Random(f"{seed}/faults"),
            nodes=given.world.warehouse.nodes,
            queries=len(queries),
            span_us=given.faults_drawn.span_us,
            count_max=given.faults_drawn.count_max,
        )
    _check(plan, given.world.warehouse.nodes, len(queries))
    tables: dict[str, Table] = {spec.name: made(spec, seed) for spec in given.table}
    return SmallWorld(world=given.world, tables=tables, queries=queries, faults=plan)


def _check(plan: Sequence[AnyFault], nodes: int, queries: int) -> None:
    for fault in plan:
        node = getattr(fault, "node", 0)
        if not 0 <= node < nodes:
            raise InputError(f"a fault befalls node {node}, and there are nodes 0 to {nodes - 1}")
        if not 0 <= getattr(fault, "query", 0) < queries:
            raise InputError(f"a query is cancelled that is not one of the {queries}")
        if fault.from_us < 0 or fault.until_us < fault.from_us:
            raise InputError(f"a fault lasts from {fault.from_us} us until {fault.until_us} us")


def made(spec: TableSpec, seed: int) -> RowTable:
    """A table of a scenario, with metadata that tells all of it."""
    draw = random.Random(f"{seed}/table/{spec.name}")
    count = spec.blocks * spec.rows_per_block
    keys = [at * (spec.keys or count) // count for at in range(count)]
    if spec.order == "random":
        draw.shuffle(keys)
    elif spec.order == "descending":
        keys.reverse()
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
        sizes=np.full(spec.blocks, spec.block_bytes, np.int64),
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


@dataclass(frozen=True, slots=True)
class Missed:
    """An expectation that is not met; no seed of one that no seed meets."""

    measure: str
    what: str
    seed: int | None


def missed(given: Scenario, found: Mapping[int, Mapping[str, float]]) -> list[Missed]:
    """The expectations that the measures of runs, by seed, do not meet.

    Raises:
        InputError: nothing of that name is measured.
    """
    out = []
    for name, bounds in given.expect.items():
        values = {seed: measured.get(name, 0) for seed, measured in found.items()}
        for seed, value in values.items():
            if bounds.min is not None and value < bounds.min:
                out.append(Missed(name, f"{number(value)}, not {number(bounds.min)} or more", seed))
            if bounds.max is not None and value > bounds.max:
                out.append(Missed(name, f"{number(value)}, not {number(bounds.max)} or less", seed))
        most = max(values.values(), default=0)
        if bounds.some is not None and most < bounds.some:
            due = f"{number(most)} at most, and {number(bounds.some)} in no seed"
            out.append(Missed(name, f"{due}: the claim was not put to the test", None))
    return out


def number(value: float) -> str:
    """A measure for people."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"
