"""How long planning takes: 3 million blocks classified, beside the same comparisons in numpy by hand.

    python bench/planning_speed.py [--blocks N] [--rounds N]

Each figure is the median over rounds in which every contestant runs once, in turn, so that a slow
moment of the machine meets them all. Two hands of numpy: one that finds the blocks that may be
skipped, and one that tells all three verdicts, as skipproof does. Then IFs are nested ever deeper,
to see that time and memory grow in proportion.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from pruning.classification import classify_blocks, compile_predicate
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    Like,
    Literal,
    Operator,
)
from pruning.expressions.types import LONG, STRING
from pruning.metadata.schema import block_schema

A, B, S = Column("a", LONG), Column("b", LONG), Column("s", STRING)
DEPTHS = (1, 2, 5, 10, 16)
VALUES = 10_000_000


def block_metadata(blocks: int, seed: int = 7) -> pa.Table:
    """Blocks clustered on `a`, less so on `b`; strings of 12 characters; a tenth of them with NULLs."""
    random = np.random.default_rng(seed)
    a = np.sort(random.integers(0, VALUES, blocks))
    b = random.integers(0, VALUES, blocks)
    digits = np.char.zfill(random.integers(0, 10**9, blocks).astype("S9"), 12)
    text = pa.array(digits.tolist(), pa.binary()).cast(pa.string())
    bounds = {
        "a": (pa.array(a), pa.array(a + random.integers(0, 100, blocks))),
        "b": (pa.array(b), pa.array(b + random.integers(0, 100_000, blocks))),
        "s": (text, pc.binary_join_element_wise(text, "z", "")),
    }
    nulls = pa.array(np.where(random.random(blocks) < 0.1, 5, 0))
    schema = block_schema({"a": LONG, "b": LONG, "s": STRING})
    fields = schema.field("columns").type
    columns = [_column(fields.field(name).type, nulls, *bounds[name]) for name in bounds]
    ordinal = pa.array(np.arange(blocks))
    return pa.table(
        [
            pa.repeat("file", blocks),
            ordinal.cast(pa.int32()),
            ordinal,
            ordinal,
            ordinal,
            pa.repeat(1_000, blocks).cast(pa.int64()),
            pa.StructArray.from_arrays(columns, fields=list(fields)),
        ],
        schema=schema,
    )


def _column(type_: pa.StructType, nulls: pa.Array, lower: pa.Array, upper: pa.Array) -> pa.StructArray:
    known = {"null_count": nulls, "min": lower, "max": upper}
    parts = [known.get(field.name, pa.nulls(len(nulls), field.type)) for field in type_]
    return pa.StructArray.from_arrays(parts, fields=list(type_))


def between(column: Column, low: int, high: int) -> list[Expression]:
    """`column BETWEEN low AND high`."""
    return [
        Compare(Comparison.AT_LEAST, column, Literal(low, LONG)),
        Compare(Comparison.AT_MOST, column, Literal(high, LONG)),
    ]


PREDICATE = And((*between(A, 2_000_000, 6_000_000), *between(B, 1_000_000, 9_000_000), Like(S, b"0001%")))


def numpy_skips(m: dict[str, np.ndarray]) -> np.ndarray:
    """By hand: which blocks may hold a match."""
    return (
        (m["a_max"] >= 2_000_000)
        & (m["a_min"] <= 6_000_000)
        & (m["b_max"] >= 1_000_000)
        & (m["b_min"] <= 9_000_000)
        & (m["s_max"] >= b"0001")
        & (m["s_min"] < b"0002")
    )


def numpy_verdicts(m: dict[str, np.ndarray]) -> np.ndarray:
    """By hand: NONE, SOME or ALL."""
    inside = (
        (m["a_min"] >= 2_000_000)
        & (m["a_max"] <= 6_000_000)
        & (m["b_min"] >= 1_000_000)
        & (m["b_max"] <= 9_000_000)
        & (m["s_min"] >= b"0001")
        & (m["s_max"] < b"0002")
        & (m["nulls"] == 0)
    )
    return np.where(inside, 2, numpy_skips(m)).astype(np.int8)


def by_hand(metadata: pa.Table) -> dict[str, np.ndarray]:
    """The metadata as plain numpy arrays; strings as fixed-width bytes."""
    columns = metadata.column("columns").chunk(0)
    arrays = {"nulls": columns.field("a").field("null_count").to_numpy()}
    for name in ("a", "b"):
        for side in ("min", "max"):
            arrays[f"{name}_{side}"] = columns.field(name).field(side).to_numpy()
    for side in ("min", "max"):
        arrays[f"s_{side}"] = columns.field("s").field(side).to_numpy(zero_copy_only=False).astype("S13")
    return arrays


def nested(depth: int) -> Expression:
    """IF (a > 1, IF (a > 2, ... + 1, b) + 1, b) > 5, `depth` deep."""
    value: Expression = A
    for level in range(depth):
        condition = Compare(Comparison.GREATER, A, Literal(level * VALUES // 20, LONG))
        value = Case(((condition, Arithmetic(Operator.ADD, value, Literal(1, LONG), LONG)),), B)
    return Compare(Comparison.GREATER, value, Literal(VALUES // 2, LONG))


def medians(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median time of each, in seconds; all run in turn, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            if counted >= 0:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


def compare_with_numpy(metadata: pa.Table, rounds: int, console: Console) -> None:
    """The range over two columns with a LIKE."""
    arrays = by_hand(metadata)
    program = compile_predicate(PREDICATE)
    verdicts = classify_blocks(program, metadata).to_numpy()
    assert np.array_equal(verdicts, numpy_verdicts(arrays)), "the hand-written verdicts differ"
    found = medians(
        {
            "numpy, skip or not": lambda: numpy_skips(arrays),
            "numpy, three verdicts": lambda: numpy_verdicts(arrays),
            "skipproof, three verdicts": lambda: classify_blocks(program, metadata),
        },
        rounds,
    )
    table = Table(title=f"a BETWEEN .. AND b BETWEEN .. AND s LIKE '0001%', {len(verdicts):,} blocks")
    for heading in ("", "median ms", "ratio to skip or not", "ratio to three verdicts"):
        table.add_column(heading, justify="left" if not heading else "right")
    bases = [found["numpy, skip or not"], found["numpy, three verdicts"]]
    for name, seconds in found.items():
        table.add_row(name, f"{seconds * 1e3:.1f}", *(f"{seconds / base:.2f}" for base in bases))
    console.print(table)


def nest_deeper(metadata: pa.Table, rounds: int, console: Console) -> None:
    """IFs, nested: operations, time and peak memory per level."""
    table = Table(title=f"nested IF, {metadata.num_rows:,} blocks")
    for heading in (
        "depth",
        "operations",
        "compile ms",
        "compile KiB",
        "classify ms",
        "classify ms per level",
    ):
        table.add_column(heading, justify="right")
    programs = {depth: compile_predicate(nested(depth)) for depth in DEPTHS}
    compiled = medians({str(d): lambda d=d: compile_predicate(nested(d)) for d in DEPTHS}, rounds)
    taken = medians({str(d): lambda d=d: classify_blocks(programs[d], metadata) for d in DEPTHS}, rounds)
    for depth, program in programs.items():
        tracemalloc.start()
        compile_predicate(nested(depth))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        seconds = taken[str(depth)]
        table.add_row(
            str(depth),
            str(len(program.operations)),
            f"{compiled[str(depth)] * 1e3:.1f}",
            f"{peak / 1024:.0f}",
            f"{seconds * 1e3:.1f}",
            f"{seconds * 1e3 / depth:.1f}",
        )
    console.print(table)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--blocks", type=int, default=3_000_000, help="blocks to classify (default %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    console = Console(width=110)
    metadata = block_metadata(arguments.blocks)
    compare_with_numpy(metadata, arguments.rounds, console)
    nest_deeper(metadata.slice(0, arguments.blocks // 10), arguments.rounds, console)


if __name__ == "__main__":
    main()
