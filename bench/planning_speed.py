"""How long planning takes: predicates over the metadata of millions of blocks, beside other ways to ask.

    python bench/planning_speed.py [--blocks N] [--rounds N] [--files N]

Each figure is the median over rounds in which every contestant runs once, in turn, so that a slow
moment of the machine meets them all. All run on one thread, and processor time is what is counted:

- skipproof, which tells three verdicts (NONE, SOME, ALL), as it comes and with the adaptive order off;
- numpy by hand, on plain arrays: the blocks that may match, and, where that was written, all verdicts;
- DuckDB's SQL over a table of the same metadata: likewise;
- PyIceberg's evaluator of file metrics, over fewer files, per file.

Then IFs are nested ever deeper, to see that time and memory grow in proportion.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyiceberg.expressions as iceberg
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
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
    In,
    Like,
    Literal,
    Operator,
    Or,
    columns,
)
from pruning.expressions.types import LONG, STRING
from pruning.metadata.schema import block_schema

A, B, S, UNIT = Column("a", LONG), Column("b", LONG), Column("s", STRING), Column("unit", STRING)
SCHEMA = {column.name: column.type for column in (A, B, S, UNIT)}
DEPTHS = (1, 2, 5, 10, 16)
VALUES = 10_000_000
FEET = 1_000
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One predicate in every language that can say it.

    `numpy_skips` and `sql` tell the blocks that may match, `numpy_verdicts` and `sql_verdicts` all
    three verdicts; `iceberg` is PyIceberg's form of the predicate.
    """

    name: str
    predicate: Expression
    numpy_skips: Callable[[Arrays], np.ndarray]
    numpy_verdicts: Callable[[Arrays], np.ndarray] | None = None
    sql: str
    sql_verdicts: str | None = None
    iceberg: Any = None


def block_metadata(blocks: int, seed: int = 7) -> pa.Table:
    """Blocks clustered on `a`, not on `b`; strings of 12 characters; a tenth of them with NULLs.

    Of three blocks, one holds feet, one metres and one both.
    """
    random = np.random.default_rng(seed)
    a = np.sort(random.integers(0, VALUES, blocks))
    b = random.integers(0, VALUES, blocks)
    digits = np.char.zfill(random.integers(0, 10**9, blocks).astype("S9"), 12)
    text = pa.array(digits.tolist(), pa.binary()).cast(pa.string())
    unit = random.integers(0, 3, blocks)
    bounds = {
        "a": (pa.array(a), pa.array(a + random.integers(0, 100, blocks))),
        "b": (pa.array(b), pa.array(b + random.integers(0, 100_000, blocks))),
        "s": (text, pc.binary_join_element_wise(text, "z", "")),
        "unit": (
            pa.array(np.where(unit == 1, "metres", "feet"), pa.string()),
            pa.array(np.where(unit == 0, "feet", "metres"), pa.string()),
        ),
    }
    nulls = pa.array(np.where(random.random(blocks) < 0.1, 5, 0))
    schema = block_schema(SCHEMA)
    fields = schema.field("columns").type
    structs = [_column(fields.field(name).type, nulls, *bounds[name]) for name in bounds]
    ordinal = pa.array(np.arange(blocks))
    return pa.table(
        [
            pa.repeat("file", blocks),
            ordinal.cast(pa.int32()),
            ordinal,
            ordinal,
            ordinal,
            pa.repeat(1_000, blocks).cast(pa.int64()),
            pa.StructArray.from_arrays(structs, fields=list(fields)),
        ],
        schema=schema,
    )


def _column(type_: pa.StructType, nulls: pa.Array, lower: pa.Array, upper: pa.Array) -> pa.StructArray:
    known = {"null_count": nulls, "min": lower, "max": upper}
    parts = [known.get(field.name, pa.nulls(len(nulls), field.type)) for field in type_]
    return pa.StructArray.from_arrays(parts, fields=list(type_))


def by_hand(metadata: pa.Table) -> Arrays:
    """The metadata as plain numpy arrays; strings as fixed-width bytes."""
    structs = metadata.column("columns").chunk(0)
    arrays = {"nulls": structs.field("a").field("null_count").to_numpy()}
    for name in SCHEMA:
        for side in ("min", "max"):
            bound = structs.field(name).field(side).to_numpy(zero_copy_only=False)
            arrays[f"{name}_{side}"] = bound.astype("S13") if SCHEMA[name] == STRING else bound
    return arrays


def in_duckdb(metadata: pa.Table) -> duckdb.DuckDBPyConnection:
    """The metadata as a table `m` of DuckDB, on one thread."""
    structs = metadata.column("columns").chunk(0)
    flat = {
        f"{name}_{side}": structs.field(name).field(side) for name in SCHEMA for side in ("min", "max")
    } | {"ordinal": pa.array(np.arange(len(structs))), "nulls": structs.field("a").field("null_count")}
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("arrow", pa.table(flat))
    connection.execute("CREATE TABLE m AS SELECT * FROM arrow")
    return connection


def data_files(metadata: pa.Table, count: int) -> list[DataFile]:
    """Some of the blocks, from all over, as files of an Iceberg manifest."""
    step = max(1, metadata.num_rows // count)
    rows = metadata.take(pa.array(np.arange(0, step * count, step))).to_pylist()
    types = {name: StringType() if SCHEMA[name] == STRING else LongType() for name in SCHEMA}
    return [
        DataFile.from_args(
            file_path="file",
            record_count=row["row_count"],
            value_counts={i: row["row_count"] for i, _ in enumerate(SCHEMA, 1)},
            null_value_counts={i: row["columns"][name]["null_count"] for i, name in enumerate(SCHEMA, 1)},
            nan_value_counts={},
            **{
                f"{word}_bounds": {
                    i: to_bytes(types[name], row["columns"][name][side]) for i, name in enumerate(SCHEMA, 1)
                }
                for word, side in (("lower", "min"), ("upper", "max"))
            },
        )
        for row in rows
    ]


ICEBERG_SCHEMA = Schema(
    *(
        NestedField(i, name, StringType() if type_ == STRING else LongType(), required=False)
        for i, (name, type_) in enumerate(SCHEMA.items(), 1)
    )
)


@dataclass(frozen=True, slots=True)
class Side:
    """`column >= value` or `column <= value`, in every language."""

    column: Column
    least: bool
    value: int

    @property
    def expression(self) -> Expression:
        comparison = Comparison.AT_LEAST if self.least else Comparison.AT_MOST
        return Compare(comparison, self.column, Literal(self.value, LONG))

    @property
    def sql(self) -> str:
        name = self.column.name
        return f"{name}_max >= {self.value}" if self.least else f"{name}_min <= {self.value}"

    @property
    def iceberg(self) -> Any:
        word = iceberg.GreaterThanOrEqual if self.least else iceberg.LessThanOrEqual
        return word(self.column.name, self.value)

    @property
    def sql_always(self) -> str:
        name = self.column.name
        return f"{name}_min >= {self.value}" if self.least else f"{name}_max <= {self.value}"

    def may(self, m: Arrays) -> np.ndarray:
        """Whether some value of the block may be on this side."""
        name = self.column.name
        return m[f"{name}_max"] >= self.value if self.least else m[f"{name}_min"] <= self.value

    def always(self, m: Arrays) -> np.ndarray:
        """Whether every value of the block is on this side."""
        name = self.column.name
        return m[f"{name}_min"] >= self.value if self.least else m[f"{name}_max"] <= self.value


def between(column: Column, low: int, high: int) -> tuple[Side, Side]:
    """`column BETWEEN low AND high`."""
    return Side(column, True, low), Side(column, False, high)


def ranges(name: str, sides: tuple[Side, ...], prefix: bytes | None = None) -> Question:
    """All of the sides, and maybe `s LIKE 'prefix%'`."""
    text = "" if prefix is None else prefix.decode()
    after = b"" if prefix is None else prefix[:-1] + bytes([prefix[-1] + 1])
    likes: list[Expression] = [] if prefix is None else [Like(S, prefix + b"%")]

    def may(m: Arrays) -> np.ndarray:
        found = reduce(np.logical_and, [side.may(m) for side in sides])
        return found if prefix is None else found & (m["s_max"] >= prefix) & (m["s_min"] < after)

    def verdicts(m: Arrays) -> np.ndarray:
        inside = reduce(np.logical_and, [side.always(m) for side in sides]) & (m["nulls"] == 0)
        if prefix is not None:
            inside &= (m["s_min"] >= prefix) & (m["s_max"] < after)
        return np.where(inside, 2, may(m)).astype(np.int8)

    conditions = [side.sql for side in sides]
    inside = ["nulls = 0", *(side.sql_always for side in sides)]
    forms = [side.iceberg for side in sides]
    if prefix is not None:
        conditions += [f"s_max >= '{text}'", f"s_min < '{after.decode()}'"]
        inside += [f"s_min >= '{text}'", f"s_max < '{after.decode()}'"]
        forms.append(iceberg.StartsWith("s", text))
    may_sql, inside_sql = " AND ".join(conditions), " AND ".join(inside)
    return Question(
        name=name,
        predicate=And((*(side.expression for side in sides), *likes)),
        numpy_skips=may,
        numpy_verdicts=verdicts,
        sql=f"SELECT ordinal FROM m WHERE {may_sql}",
        sql_verdicts=f"SELECT CASE WHEN {inside_sql} THEN 2 WHEN {may_sql} THEN 1 ELSE 0 END::TINYINT FROM m",
        iceberg=reduce(iceberg.And, forms),
    )


def one_comparison() -> Question:
    """`a <= c`, which the list is held against."""
    side = Side(A, False, 6_000_000)
    return Question(
        name="a <= c",
        predicate=side.expression,
        numpy_skips=side.may,
        sql=f"SELECT ordinal FROM m WHERE {side.sql}",
        iceberg=side.iceberg,
    )


def feet_or_metres() -> Question:
    """IF (unit = 'feet', a + 1000, a) > c, which decides the branch of most blocks by their metadata."""
    limit = VALUES // 2
    shifted = Arithmetic(Operator.ADD, A, Literal(FEET, LONG), LONG)
    value = Case(((Compare(Comparison.EQUAL, UNIT, Literal(b"feet", STRING)), shifted),), A)

    def may(m: Arrays) -> np.ndarray:
        feet = (m["unit_min"] <= b"feet") & (m["unit_max"] >= b"feet") & (m["a_max"] + FEET > limit)
        either = (m["unit_min"] != b"feet") | (m["unit_max"] != b"feet") | (m["nulls"] > 0)
        return feet | (either & (m["a_max"] > limit))

    return Question(
        name="IF(unit = 'feet', a + 1000, a) > c",
        predicate=Compare(Comparison.GREATER, value, Literal(limit, LONG)),
        numpy_skips=may,
        sql=f"""SELECT ordinal FROM m WHERE
            (unit_min <= 'feet' AND unit_max >= 'feet' AND a_max + {FEET} > {limit})
            OR ((unit_min <> 'feet' OR unit_max <> 'feet') AND a_max > {limit})""",
    )


MEMBERS = np.sort(np.random.default_rng(11).choice(VALUES, 1_000, replace=False))


def a_list(count: int) -> Question:
    """`a IN (some members)`: PyIceberg looks at lists of up to 200."""
    chosen = MEMBERS[:: len(MEMBERS) // count]

    def may(m: Arrays) -> np.ndarray:
        return np.searchsorted(chosen, m["a_min"]) < np.searchsorted(chosen, m["a_max"], "right")

    members = [int(member) for member in chosen]
    listed = f"(SELECT unnest({members}) AS v)"
    return Question(
        name=f"a IN ({count:,} members)",
        predicate=In(A, tuple(Literal(member, LONG) for member in members)),
        numpy_skips=may,
        sql=f"SELECT ordinal FROM m ASOF JOIN {listed} ON a_min <= v WHERE v <= a_max",
        iceberg=iceberg.In("a", members),
    )


def thirty_leaves() -> Question:
    """An AND of five ORs, each of three ranges: 30 comparisons."""
    random = np.random.default_rng(13)
    arms = [
        [
            between(column, low, low + VALUES // 4)
            for column, low in zip((A, B, A), random.integers(0, VALUES, 3).tolist(), strict=True)
        ]
        for _ in range(5)
    ]

    def may(m: Arrays) -> np.ndarray:
        ors = [reduce(np.logical_or, [low.may(m) & high.may(m) for low, high in arm]) for arm in arms]
        return reduce(np.logical_and, ors)

    return Question(
        name="30 leaves of AND and OR",
        predicate=And(
            tuple(Or(tuple(And((low.expression, high.expression)) for low, high in arm)) for arm in arms)
        ),
        numpy_skips=may,
        sql="SELECT ordinal FROM m WHERE "
        + " AND ".join(
            "(" + " OR ".join(f"({low.sql} AND {high.sql})" for low, high in arm) + ")" for arm in arms
        ),
        iceberg=reduce(
            iceberg.And,
            [
                reduce(iceberg.Or, [iceberg.And(low.iceberg, high.iceberg) for low, high in arm])
                for arm in arms
            ],
        ),
    )


QUESTIONS = (
    one_comparison(),
    ranges("a BETWEEN", between(A, 2_000_000, 6_000_000)),
    ranges("b BETWEEN", between(B, 2_000_000, 6_000_000)),
    ranges(
        "a BETWEEN, b BETWEEN, s LIKE '0001%'",
        (*between(A, 2_000_000, 6_000_000), *between(B, 1_000_000, 9_000_000)),
        b"0001",
    ),
    feet_or_metres(),
    a_list(200),
    a_list(1_000),
    thirty_leaves(),
)


def nested(depth: int) -> Expression:
    """IF (a > 1, IF (a > 2, ... + 1, b) + 1, b) > 5, `depth` deep."""
    value: Expression = A
    for level in range(depth):
        condition = Compare(Comparison.GREATER, A, Literal(level * VALUES // 20, LONG))
        value = Case(((condition, Arithmetic(Operator.ADD, value, Literal(1, LONG), LONG)),), B)
    return Compare(Comparison.GREATER, value, Literal(VALUES // 2, LONG))


def medians(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median processor time of each, in seconds; all run in turn, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            began = time.process_time()
            run()
            if counted >= 0:
                times[name].append(time.process_time() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


@contextmanager
def peak_bytes() -> Iterator[list[int]]:
    """Puts into the list the most bytes that Arrow and numpy held at once, beyond those at the start."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    found: list[int] = []
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield found
    finally:
        found.append(pool.max_memory() + tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        pa.set_memory_pool(before)


def named_bytes(predicate: Expression, metadata: pa.Table) -> int:
    """The bytes of the metadata that a predicate names: bounds and counts of its columns, and row counts."""
    structs = metadata.column("columns").chunk(0)
    parts = ("min", "max", "null_count")
    bounds = [structs.field(name).field(part).nbytes for name in columns(predicate) for part in parts]
    return sum(bounds) + int(metadata.column("row_count").nbytes)


def asked_of_iceberg(question: Question, files: list[DataFile]) -> float | None:
    """Seconds per file; None where PyIceberg cannot say the predicate."""
    if question.iceberg is None:
        return None
    evaluator = _InclusiveMetricsEvaluator(ICEBERG_SCHEMA, question.iceberg)
    taken = medians({"iceberg": lambda: [evaluator.eval(file) for file in files]}, 1)
    return taken["iceberg"] / len(files)


def check(question: Question, metadata: pa.Table, arrays: Arrays, sql: duckdb.DuckDBPyConnection) -> None:
    """All say the same: no block that skipproof keeps is skipped by hand, and the hands agree."""
    verdicts = classify_blocks(question.predicate, metadata).to_numpy()
    by_numpy = question.numpy_skips(arrays)
    assert not (verdicts[~by_numpy] > 0).any(), f"{question.name}: a block is kept that a hand skips"
    if question.numpy_verdicts is not None:
        assert np.array_equal(verdicts, question.numpy_verdicts(arrays)), f"{question.name}: verdicts differ"
    kept = sql.sql(question.sql).to_arrow_table().column(0).unique().to_numpy()
    assert np.array_equal(np.sort(kept), np.flatnonzero(by_numpy)), f"{question.name}: DuckDB differs"
    plain = classify_blocks(question.predicate, metadata, adaptive=False).to_numpy()
    assert np.array_equal(verdicts, plain), f"{question.name}: the order changed a verdict"


def compare(metadata: pa.Table, rounds: int, files: int, console: Console) -> None:
    """Every question, asked of everyone."""
    arrays, sql = by_hand(metadata), in_duckdb(metadata)
    manifest = data_files(metadata, files)
    table = Table(
        title=f"{metadata.num_rows:,} blocks, median ms of one processor; PyIceberg from {files:,} files"
    )
    headings = (
        "",
        "skipproof",
        "in plain order",
        "numpy, may match",
        "numpy, three verdicts",
        "DuckDB, may match",
        "DuckDB, three verdicts",
        "PyIceberg",
        "peak / named",
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    found: dict[str, dict[str, float]] = {}
    for question in QUESTIONS:
        check(question, metadata, arrays, sql)
        program = compile_predicate(question.predicate)
        contestants: dict[str, Callable[[], object]] = {
            "skipproof": lambda p=program: classify_blocks(p, metadata),
            "plain": lambda p=program: classify_blocks(p, metadata, adaptive=False),
            "numpy": lambda q=question: q.numpy_skips(arrays),
            "duckdb": lambda q=question: sql.sql(q.sql).to_arrow_table(),
        }
        if question.numpy_verdicts is not None:
            contestants["three"] = lambda q=question: q.numpy_verdicts(arrays)
            contestants["duckdb three"] = lambda q=question: sql.sql(q.sql_verdicts).to_arrow_table()
        taken = found[question.name] = medians(contestants, rounds)
        per_file = asked_of_iceberg(question, manifest)
        if per_file is not None:
            taken["iceberg"] = per_file * metadata.num_rows
        with peak_bytes() as peak:
            classify_blocks(program, metadata)
        order = ("skipproof", "plain", "numpy", "three", "duckdb", "duckdb three", "iceberg")
        figures = [f"{taken[name] * 1e3:,.1f}" if name in taken else "-" for name in order]
        table.add_row(question.name, *figures, f"{peak[0] / named_bytes(question.predicate, metadata):.2f}")
    console.print(table)
    console.print(RATIOS)
    console.print(_ratios(found))


RATIOS = (
    "skipproof always tells NONE, SOME and ALL. PyIceberg has no IF, and passes every file unlooked at\n"
    "for a list of more than 200 members. Ratios:"
)


def _ratios(found: dict[str, dict[str, float]]) -> Table:
    pairs = {
        "skipproof / numpy, three": "three",
        "/ numpy, may match": "numpy",
        "/ DuckDB, three": "duckdb three",
        "/ DuckDB, may match": "duckdb",
    }
    table = Table()
    for heading in ("", *pairs, "PyIceberg / skipproof", "/ a <= c", "/ b BETWEEN"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, taken in found.items():
        own = taken["skipproof"]
        table.add_row(
            name,
            *(f"{own / taken[other]:.2f}" if other in taken else "-" for other in pairs.values()),
            f"{taken['iceberg'] / own:,.0f}" if "iceberg" in taken else "-",
            f"{own / found['a <= c']['skipproof']:.2f}",
            f"{own / found['b BETWEEN']['skipproof']:.2f}",
        )
    return table


def nest_deeper(metadata: pa.Table, rounds: int, console: Console) -> None:
    """IFs, nested: operations, time and peak memory per level."""
    table = Table(title=f"nested IF, {metadata.num_rows:,} blocks")
    for heading in (
        "depth",
        "operations",
        "compile ms",
        "classify ms",
        "classify ms per level",
        "peak / named",
    ):
        table.add_column(heading, justify="right")
    programs = {depth: compile_predicate(nested(depth)) for depth in DEPTHS}
    compiled = medians({str(d): lambda d=d: compile_predicate(nested(d)) for d in DEPTHS}, rounds)
    taken = medians({str(d): lambda d=d: classify_blocks(programs[d], metadata) for d in DEPTHS}, rounds)
    for depth, program in programs.items():
        with peak_bytes() as peak:
            classify_blocks(program, metadata)
        seconds = taken[str(depth)]
        table.add_row(
            str(depth),
            str(len(program.operations)),
            f"{compiled[str(depth)] * 1e3:.1f}",
            f"{seconds * 1e3:.1f}",
            f"{seconds * 1e3 / depth:.1f}",
            f"{peak[0] / named_bytes(nested(depth), metadata):.2f}",
        )
    console.print(table)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--blocks", type=int, default=3_000_000, help="blocks to classify (default %(default)s)"
    )
    parser.add_argument("--files", type=int, default=10_000, help="files for PyIceberg (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    console = Console(width=130)
    metadata = block_metadata(arguments.blocks)
    compare(metadata, arguments.rounds, arguments.files, console)
    nest_deeper(metadata, arguments.rounds, console)


if __name__ == "__main__":
    main()
