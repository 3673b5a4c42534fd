"""Draw small worlds from a seed: tables with rows, and queries of them, with nasty cases on purpose.

There are few distinct values, so that keys tie, predicates meet bounds, and joins find partners. Metadata is
sometimes widened or missing, to check what techniques may not conclude from it.

"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pruning.expressions.plans import Equality, Filter, Join, JoinKind, Limit, Plan, Scan, Sort, SortItem
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from pruning.expressions.types import DOUBLE, INTEGER, LONG, STRING, Type, Value
from sim.scans.layouts import FileLayout
from sim.scans.model import (
    ControlPlane,
    Metadata,
    MetadataLocation,
    Network,
    ObjectStore,
    ScanWorld,
    Warehouse,
)
from sim.scans.queries import FilteredTable, Query, QueryKind
from sim.scans.tables import ID, RowTable, metadata_table

TYPES: Mapping[str, Type] = {ID: LONG, "k": INTEGER, "v": DOUBLE, "s": STRING}
_DOUBLES = (-1.5, -0.0, 0.0, 1.0, 2.5, math.inf, math.nan)
# Kinds that serve more than a filter come more often.
KINDS = (QueryKind.FILTER, *[QueryKind.LIMIT] * 2, *[QueryKind.TOPK] * 3, *[QueryKind.JOIN] * 5)
# The counts that a LIMIT or a top-k may ask for.
WANTED = (1, 2, 3, 5, 10, 20, 40)
# The column by which a table is laid out (None: no order), and the columns by which queries sort and join.
LAID_BY = ("k", "k", "v", None)
KEYS = ("k", "k", "k", "v", "s")
# The most blocks of a table, one of which is chosen.
BLOCKS = (3, 20, 20)
_TEXTS = (b"", b"a", b"ab", b"b", b"\xc3\xa9")


def drawn_table(
    draw: random.Random,
    name: str,
    *,
    rows_max: int,
    blocks: Sequence[int] = BLOCKS,
    spans: Sequence[int] = (2, 6, 30, 30),
    laid_by: Sequence[str | None] = LAID_BY,
) -> RowTable:
    """Draw a table of a few blocks.

    Args:
        rows_max: The mean number of rows of a block, at most.
        blocks: Choices for the most blocks.
        spans: Choices for the number of distinct values of `k`.
        laid_by: Choices for the column in whose order rows lie; None is no order.
    """
    count = draw.randint(1, draw.choice(blocks))
    span = draw.choice(spans)
    nulls = draw.choice((0.0, 0.1, 0.1, 0.5))
    rows = [
        {
            ID: 0,
            "k": None if draw.random() < nulls else draw.randrange(span),
            "v": None if draw.random() < nulls else draw.choice(_DOUBLES),
            "s": None if draw.random() < nulls else draw.choice(_TEXTS),
        }
        for _ in range(draw.randint(0, count) if draw.random() < 0.1 else draw.randint(1, rows_max) * count)
    ]
    key = draw.choice(laid_by)
    if key is not None:
        rows.sort(key=lambda row: _place(row[key]))
    rows = [row | {ID: at} for at, row in enumerate(rows)]
    cuts = sorted(draw.randint(0, len(rows)) for _ in range(count - 1))
    held = tuple(tuple(rows[start:stop]) for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True))
    forgetful = draw.choice((0.0, 0.0, 0.2))
    facts = [
        {column: _draw_statistics(draw, [row[column] for row in block], forgetful) for column in TYPES}
        for block in held
    ]
    sizes = np.array([1 + draw.randrange(2_000_000) for _ in held], np.int64)
    return RowTable(
        name=name,
        types=TYPES,
        blocks=held,
        metadata=metadata_table(name, TYPES, held, facts),
        layout=FileLayout(sizes=sizes),
    )


def _place(value: Value | None) -> tuple[int, Any]:
    if value is None:
        return (2, 0)
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def _draw_statistics(draw: random.Random, values: Sequence[Value | None], forgetful: float) -> dict[str, Any]:
    """Draw the statistics of a column of a block: the truth, or less."""
    held = [value for value in values if value is not None and _place(value)[0] == 0]
    nans = sum(value is not None for value in values) - len(held)
    lower, upper = (min(held), max(held)) if held else (None, None)
    exact = draw.random() < 0.8
    if not exact and isinstance(lower, int) and isinstance(upper, int):
        lower, upper = lower - draw.randrange(2), upper + draw.randrange(2)
    facts = {
        "null_count": sum(value is None for value in values),
        "nan_count": nans,
        "byte_count": None,
        "min": lower,
        "max": upper,
        "min_exact": exact if held else None,
        "max_exact": exact if held else None,
    }
    return {name: None if draw.random() < forgetful else fact for name, fact in facts.items()}


def _column(name: str) -> Column:
    return Column(name, TYPES[name])


def _constant(draw: random.Random, name: str) -> Literal:
    keys = range(-1, draw.choice((3, 7, 31)))
    values: Mapping[str, Sequence[Value]] = {"k": keys, "v": _DOUBLES, "s": _TEXTS}
    return Literal(draw.choice(values[name]), TYPES[name])


def drawn_predicate(draw: random.Random, depth: int = 2) -> Expression:
    """Draw a condition of one to four comparisons."""
    if depth and draw.random() < 0.5:
        parts = tuple(drawn_predicate(draw, depth - 1) for _ in range(2))
        condition = draw.choice((And, Or))(parts)
        return Not(condition) if draw.random() < 0.15 else condition
    name = draw.choice(("k", "k", "v", "s"))
    match draw.randrange(8):
        case 0:
            null: Expression = IsNull(_column(name))
            return Not(null) if draw.random() < 0.5 else null
        case 1:
            return In(_column(name), tuple(_constant(draw, name) for _ in range(draw.randint(1, 3))))
        case _:
            return Compare(draw.choice(list(Comparison)), _column(name), _constant(draw, name))


def drawn_query(
    draw: random.Random,
    name: str,
    tables: Sequence[str],
    kind: QueryKind,
    *,
    filtered: float = 0.8,
    wanted: Sequence[int] = WANTED,
    keys: Sequence[str] = KEYS,
) -> Query:
    """Draw a query of a kind, sorted or joined by a key; its LIMIT is one of `wanted` or, seldom, 0."""
    arrives = draw.choice((0, 0, draw.randrange(300_000)))
    sources = [
        FilteredTable(table=table, predicate=drawn_predicate(draw) if draw.random() < filtered else None)
        for table in draw.sample(tables, 2 if kind is QueryKind.JOIN else 1)
    ]
    if kind is QueryKind.JOIN:
        return _join_query(draw, name, sources, arrives, draw.choice(keys))
    order = SortItem(_column(draw.choice(keys)), draw.random() < 0.5, draw.random() < 0.5)
    count = 0 if draw.random() < 0.05 else draw.choice(wanted)
    return _table_query(name, kind, sources[0], order, count, arrives)


def _table_query(
    name: str, kind: QueryKind, source: FilteredTable, order: SortItem, wanted: int, arrives: int
) -> Query:
    scan = Scan(0, {column: _column(column) for column in TYPES})
    plan = _filtered_scan(scan, source)
    if kind is QueryKind.TOPK:
        plan = Sort(plan, (order,), total=True)
    if kind in (QueryKind.LIMIT, QueryKind.TOPK):
        plan = Limit(plan, wanted, local=False)
    return Query(name=name, kind=kind, plan=plan, scans={scan: source}, arrives_us=arrives)


def _similar_top_k(draw: random.Random, query: Query, name: str) -> Query:
    """Draw a top-k of the same table and order, with another predicate and LIMIT, at the same time."""
    (source,) = query.scans.values()
    assert query.order is not None
    other = FilteredTable(table=source.table, predicate=drawn_predicate(draw))
    return _table_query(name, QueryKind.TOPK, other, query.order, draw.choice((1, 5, 20)), query.arrives_us)


def _filtered_scan(scan: Scan, source: FilteredTable) -> Plan:
    return scan if source.predicate is None else Filter(scan)


def _join_query(
    draw: random.Random, name: str, sources: Sequence[FilteredTable], arrives: int, key: str
) -> Query:
    """Draw a join of two tables; the first one is the build side, on the left or on the right."""
    number = {side: {f"#{side}{column}": _column(column) for column in TYPES} for side in (0, 1)}
    build, probe = (Scan(side, number[side]) for side in (0, 1))
    left_is_build = draw.random() < 0.5
    left, right = (build, probe) if left_is_build else (probe, build)
    sides = [Column(f"#{scan.number}{key}", TYPES[key]) for scan in (left, right)]
    of = dict(zip((build, probe), sources, strict=True))
    plan = Join(
        left=_filtered_scan(left, of[left]),
        right=_filtered_scan(right, of[right]),
        kind=draw.choice((JoinKind.INNER, *(kind for kind in JoinKind if kind is not JoinKind.EXISTENCE))),
        equalities=(Equality(sides[0], sides[1], null_safe=draw.random() < 0.5),),
        left_attributes=frozenset(left.columns),
        right_attributes=frozenset(right.columns),
    )
    return Query(name=name, kind=QueryKind.JOIN, plan=plan, scans=of, arrives_us=arrives)


def drawn_queries(
    draw: random.Random,
    tables: Sequence[str],
    kinds: Sequence[QueryKind] = KINDS,
    *,
    most: int = 6,
    filtered: float = 0.8,
    wanted: Sequence[int] = WANTED,
    keys: Sequence[str] = KEYS,
) -> tuple[Query, ...]:
    """Draw up to `most` queries, and at least a third of that, that arrive at about the same time."""
    queries: list[Query] = []
    for at in range(draw.randint(most // 3, most)):
        if queries and queries[-1].kind is QueryKind.TOPK and draw.random() < 0.5:
            queries.append(_similar_top_k(draw, queries[-1], f"q{at}"))
        else:
            kind = draw.choice(kinds)
            queries.append(
                drawn_query(draw, f"q{at}", tables, kind, filtered=filtered, wanted=wanted, keys=keys)
            )
    return tuple(queries)


def drawn_world(draw: random.Random, nodes_max: int) -> ScanWorld:
    """Draw a small warehouse."""
    return ScanWorld(
        warehouse=Warehouse(
            nodes=draw.randint(1, nodes_max),
            workers=draw.randint(1, 3),
            tasks_ahead=draw.randint(0, 2),
            blocks_per_task=draw.choice((1, 1, 2, 4)),
            guided=2 if draw.random() < 0.25 else 0,
            cache_bytes=draw.choice((0, 3_000_000)),
        ),
        store=ObjectStore(requests_per_s=draw.choice((0, 0, 50)), attempts_max=draw.randint(1, 4)),
        network=Network(delay_us_max=draw.choice((1_000, 100_000))),
        metadata=Metadata(
            keeping=draw.choice(
                (MetadataLocation.COLUMNAR, MetadataLocation.COLUMNAR, MetadataLocation.FOOTERS)
            ),
            latency_us=draw.choice((5_000, 5_000, 50_000)),
            blocks_per_chunk=draw.choice((3, 3, 100)),
            # The metadata of three blocks then takes as long to read as a block.
            bytes_per_s=draw.choice((300, 600, 2_000, 500_000_000)),
            wait_us_max=draw.choice((20_000, 2_000_000)),
        ),
        control=ControlPlane(
            # A block's metadata then costs as much to classify as that of many blocks would elsewhere.
            classify_ns=draw.choice((1_000, 50_000_000)),
            compile_us_max=draw.choice((1, 10_000, 10_000_000)),
            read_us=draw.choice((1_000, 50_000)),
            lanes_per_chunk=draw.choice((2, 8, 8)),
            summary_wait_us=draw.choice((0, 100_000, 10_000_000)),
            summary_bytes_max=draw.choice((64, 65_536)),
            heartbeat_us=draw.choice((20_000, 100_000)),
            lease_us=draw.choice((200_000, 2_000_000)),
        ),
    )
