"""Scans under ORDER BY and LIMIT, run by workers that share them, and which of them lose a row."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from pruning.expressions.types import BOOLEAN, DATE, DOUBLE, FLOAT, LONG, STRING, Type, Value, decimal
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk import upfront
from pruning.techniques.topk.arrangements import Arrangement
from pruning.techniques.topk.boundary import Boundary, strictest
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK

WORKERS = 3
ORDERS = tuple(SortOrder(*flags) for flags in itertools.product((False, True), repeat=2))
_INF, _NAN = math.inf, math.nan
# Few keys that rows share: simple ones, extremes, and those that equal or hide one another.
POOLS: dict[Type, list[list[Value | None]]] = {
    LONG: [[1, 2, 3], [1, 2, None], [-(2**63), 0, 2**63 - 1], [2**53, 2**53 + 1, None]],
    DOUBLE: [
        [1.0, 2.0, 3.0],
        [1.0, _NAN],
        [1.0, _NAN, None],
        [-0.0, 0.0, 5e-324, None],
        [-_INF, _INF, _NAN, None],
    ],
    FLOAT: [[1.0, 2.0**-149, _NAN], [-_INF, 0.0, None]],
    STRING: [[b"", b"a", b"a\0", None], [b"\xee\x80\x80", b"\xf0\x90\x80\x80"]],
    DATE: [[-719_162, 0, 2_932_896, None]],
    BOOLEAN: [[False, True, None]],
    decimal(10, 2): [[Decimal("-0.01"), Decimal("0.00"), Decimal("99999999.99"), None]],
}
# A key, whether the row satisfies the filter, and whether it is live.
KeyRow = tuple[Value | None, bool, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKCase:
    """Blocks of rows, what is known of them, a query, and who reads what.

    Attributes:
        keeps_ties: Several ORDER BY columns, or GROUP BY: every row that ties is needed.
        distinct: GROUP BY: the first keys are wanted, with all their rows.
        upfront: Which methods find the first boundary: "maxima", "counts".
        worker_of: Who reads a block of a wave; worker 0 is the one that asks for waves.
        shared: Blocks that worker 1 reads again with each of its parts.
    """

    blocks: tuple[tuple[KeyRow, ...], ...]
    bounds: KeyBounds
    matches: np.ndarray
    row_counts: np.ndarray
    order: SortOrder
    wanted: int
    keeps_ties: bool
    distinct: bool
    upfront: frozenset[str]
    arrangement: Arrangement
    densities: np.ndarray | None
    first_wave: int
    growth: float
    worker_of: tuple[int, ...]
    shared: tuple[int, ...]

    def keys(self, blocks: Iterable[int]) -> list[Value | None]:
        """The keys of the rows of the result in some blocks, the best first."""
        found = [
            key for block in set(blocks) for key, satisfies, live in self.blocks[block] if satisfies and live
        ]
        return in_order(found, self.order)

    def first_boundary(self) -> Boundary | None:
        """The stricter of the boundaries that metadata gives."""
        known = (self.bounds, self.matches, self.row_counts, self.order, self.wanted)
        found = []
        if "maxima" in self.upfront:
            found.append(upfront.boundary_by_maxima(*known, distinct=self.distinct))
        if "counts" in self.upfront and not self.distinct:
            found.append(upfront.boundary_by_counts(*known))
        return strictest(self.order, *found)

    def machine(self, start: Boundary | None = None) -> TopK:
        """The technique, before anything was read."""
        return TopK(
            self.bounds,
            self.matches,
            self.row_counts,
            self.order,
            wanted=self.wanted,
            keeps_ties=self.keeps_ties,
            distinct=self.distinct,
            start=start,
            arrangement=self.arrangement,
            densities=self.densities,
            first_wave=self.first_wave,
            growth=self.growth,
        )


def compare(one: Value | None, other: Value | None, order: SortOrder) -> int:
    """-1, 0 or 1 as ORDER BY puts a key before, beside or after another; Spark's own words, case by case."""
    if one is None or other is None:
        first = -1 if order.nulls_first else 1
        return 0 if one is other else first if one is None else -first
    high = [isinstance(value, float) and math.isnan(value) for value in (one, other)]
    sign = high[0] - high[1] if any(high) else (one > other) - (one < other)
    return -sign if order.descending else sign


def in_order(keys: Iterable[Value | None], order: SortOrder) -> list[Value | None]:
    """Keys as ORDER BY puts them."""
    return sorted(keys, key=functools.cmp_to_key(lambda one, other: compare(one, other, order)))


def without_equals(keys: Sequence[Value | None], order: SortOrder) -> list[Value | None]:
    """Sorted keys, each once."""
    return [
        key
        for position, key in enumerate(keys)
        if not position or compare(keys[position - 1], key, order) != 0
    ]


def at_least_as_good(
    keys: Iterable[Value | None], boundary: Value | None, order: SortOrder
) -> list[Value | None]:
    """Those that do not come after a boundary."""
    return [key for key in keys if compare(key, boundary, order) <= 0]


def run(case: TopKCase, machine: Callable[[Boundary | None], TopK] | None = None) -> tuple[set[int], TopK]:
    """The blocks that were read until the technique asked for no more, and it, at the end."""
    start = case.first_boundary()
    workers = [(machine or case.machine)(start) for _ in range(WORKERS)]
    read: set[int] = set()
    while len(wave := workers[0].next_blocks()):
        assert not read.issuperset(wave.tolist()), "each wave reads something new"
        for number, worker in enumerate(workers):
            part = [block for block in wave.tolist() if case.worker_of[block] == number]
            if part and number == 1:
                part += case.shared
            if part:
                read.update(part)
                keys = case.keys(part)
                worker.observe(
                    np.array(part),
                    (without_equals(keys, case.order) if case.distinct else keys)[: case.wanted],
                )
                if number:
                    workers[0].merge(worker)
    return read, workers[0]


def answer(case: TopKCase, blocks: Iterable[int]) -> list[Value | None]:
    """The keys of the answer, in order, had a table only these blocks; with all ties where they are kept."""
    keys = case.keys(blocks)
    counted = without_equals(keys, case.order) if case.distinct else keys
    if len(counted) <= case.wanted or not case.wanted:
        return keys if case.wanted else []
    return (
        at_least_as_good(keys, counted[case.wanted - 1], case.order)
        if case.keeps_ties
        else counted[: case.wanted]
    )


def loses_rows(case: TopKCase, machine: Callable[[Boundary | None], TopK] | None = None) -> bool:
    """Whether the blocks read give another answer than all blocks, or reading had no end."""
    try:
        read, _ = run(case, machine)
    except AssertionError:
        return True
    found, expected = answer(case, read), answer(case, range(len(case.blocks)))
    return len(found) != len(expected) or any(
        compare(one, other, case.order) for one, other in zip(found, expected, strict=True)
    )


# What is known of a block: each bound, whether counts of NULL and NaN are, and whether it is surely ALL.
_KNOWN = list(
    itertools.product(
        *[["exact", "exact", "inexact", "widened", "unknown"]] * 2,
        [True, True, False],
        [True, False],
        [True, False],
    )
)
# keeps_ties, distinct
_TIES = ((False, False), (False, False), (True, False), (True, True))
_UPFRONT = ((), ("maxima",), ("counts",), ("maxima", "counts"))
# Made once, since to make a strategy takes Hypothesis longer than to draw from it.
_KNOWN_FACTS = st.sampled_from(_KNOWN)
_WANTED = st.integers(0, 6)


class Scan(NamedTuple):
    """How a case reads, and for which query."""

    order: SortOrder
    ties: tuple[bool, bool]
    upfront: tuple[str, ...]
    arrangement: Arrangement
    first_wave: int
    growth: float


@functools.cache
def _scans(ties: tuple[tuple[bool, bool], ...]) -> st.SearchStrategy[Scan]:
    choices = (ORDERS, ties, _UPFRONT, Arrangement, (1, 2), (1.5, 2, 4))
    return st.sampled_from([Scan(*choice) for choice in itertools.product(*choices)])


def _block_lists(pool: Sequence[Value | None]) -> st.SearchStrategy[list[list[KeyRow]]]:
    """Rows of blocks: few or all of a block's rows satisfy the filter, few are dead."""
    of_a_block = [
        st.lists(
            st.sampled_from(list(itertools.product(pool, satisfies, [True, True, True, False]))), max_size=4
        )
        for satisfies in ([True], [True, False])
    ]
    return st.lists(st.one_of(of_a_block), min_size=1, max_size=6)


_POOLS = {
    type_: st.sampled_from([(pool, _block_lists(pool)) for pool in pools_of_type])
    for type_, pools_of_type in POOLS.items()
}


@functools.cache
def _facts_and_readers(count: int) -> st.SearchStrategy[Any]:
    """What is known of each block, who reads it, what is read again, and whether densities are known."""
    return st.tuples(
        st.lists(_KNOWN_FACTS, min_size=count, max_size=count),
        st.lists(st.integers(0, WORKERS - 1), min_size=count, max_size=count),
        st.lists(st.integers(0, count - 1), max_size=1),
        st.booleans(),
    )


@st.composite
def top_k_cases(
    draw: st.DrawFn,
    *,
    types: Sequence[Type] = tuple(POOLS),
    ties: Sequence[tuple[bool, bool]] = _TIES,
) -> TopKCase:
    """Cases whose bounds and verdicts are true of the live rows, though maybe weak.

    Args:
        types: Of the key.
        ties: Of the query, whether it keeps them and whether it has groups.

    Shrinks to: few blocks of few equal keys, exact bounds.
    """
    type_ = draw(st.sampled_from(types))
    pool, block_lists = draw(_POOLS[type_])
    blocks = tuple(map(tuple, draw(block_lists)))
    count = len(blocks)
    known, worker_of, shared, has_densities = draw(_facts_and_readers(count))
    lanes = [
        _lane([key for key, _, live in rows if live], pool, *how[:4])
        for rows, how in zip(blocks, known, strict=True)
    ]
    scan = draw(_scans(tuple(ties)))
    keeps_ties, distinct = scan.ties
    return TopKCase(
        blocks=blocks,
        bounds=_bounds(type_, lanes),
        matches=np.array([_verdict(rows, how[4]) for rows, how in zip(blocks, known, strict=True)], np.int8),
        row_counts=np.array([sum(live for _, _, live in rows) for rows in blocks], np.int64),
        order=scan.order,
        wanted=draw(_WANTED),
        keeps_ties=keeps_ties,
        distinct=distinct,
        upfront=frozenset(scan.upfront),
        arrangement=scan.arrangement,
        densities=np.linspace(0.01, 1, count) if has_densities else None,
        first_wave=scan.first_wave,
        growth=scan.growth,
        worker_of=tuple(worker_of),
        shared=tuple(shared),
    )


def is_nan(value: Value | None) -> bool:
    """Whether a key is NaN."""
    return isinstance(value, float) and math.isnan(value)


def _verdict(rows: tuple[KeyRow, ...], known: bool) -> Match:
    satisfied = [satisfies for _, satisfies, live in rows if live]
    if not satisfied:
        return Match.NONE
    if not known:
        return Match.SOME
    return Match.NONE if not any(satisfied) else Match.ALL if all(satisfied) else Match.SOME


def _bounds(type_: Type, lanes: list[dict[str, object]]) -> KeyBounds:
    def flags(name: str) -> np.ndarray:
        return np.array([lane[name] for lane in lanes], bool)

    def numbers(name: str) -> pa.Array:
        ends = [lane[name] for lane in lanes]
        return pa.array([int(end) if isinstance(end, bool) else end for end in ends], lane_type(type_))

    return KeyBounds(
        type=type_,
        lower=numbers("lower"),
        upper=numbers("upper"),
        may_null=flags("may_null"),
        may_nan=flags("may_nan"),
        may_value=flags("may_value"),
        lower_exact=flags("lower_exact"),
        upper_exact=flags("upper_exact"),
        null_counts=np.array([lane["null_count"] for lane in lanes], np.int64),
        nan_counts=np.array([lane["nan_count"] for lane in lanes], np.int64),
    )


def _lane(
    keys: list[Value | None],
    pool: Sequence[Value | None],
    lower_kept: str,
    upper_kept: str,
    nulls_known: bool,
    nans_known: bool,
) -> dict[str, object]:
    """Bounds of live keys, as they are, not known to be attained, widened to the pool's ends, or unknown."""
    numbers = sorted(key for key in keys if key is not None and not is_nan(key))
    ends = sorted(value for value in pool if value is not None and not is_nan(value))
    nulls, nans = keys.count(None), sum(map(is_nan, keys))
    floating = any(isinstance(value, float) for value in pool)
    lowers = {"widened": ends[:1], "unknown": []}.get(lower_kept, numbers[:1]) if numbers else []
    uppers = {"widened": ends[-1:], "unknown": []}.get(upper_kept, numbers[-1:]) if numbers else []
    return {
        "lower": lowers[0] if lowers else None,
        "upper": uppers[0] if uppers else None,
        "may_null": nulls > 0 or not nulls_known,
        "may_nan": nans > 0 or (floating and not nans_known),
        "may_value": bool(numbers) or "unknown" in (lower_kept, upper_kept),
        "lower_exact": bool(numbers) and lower_kept == "exact",
        "upper_exact": bool(numbers) and upper_kept == "exact",
        "null_count": nulls if nulls_known else -1,
        "nan_count": nans if nans_known or not floating else -1,
    }
