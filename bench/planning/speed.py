"""Measure the planning of predicates over the metadata of millions of blocks, against other ways.

    python bench/planning/speed.py [--blocks N] [--rounds N] [--files N]

Each figure is the median over rounds in which every contestant runs once, in turn, so that a slow
moment of the machine meets them all. All run on one thread, and processor time is what is counted:

- skipproof, which tells three verdicts (NONE, SOME, ALL), as it comes and with the adaptive order off;
- numpy by hand, on plain arrays: the blocks that may match, and, where that was written, all verdicts;
- DuckDB's SQL over a table of the same metadata: likewise;
- PyIceberg's evaluator of file metrics, over fewer files, per file.

Then IFs are nested ever deeper, to see that time and memory grow in proportion.
"""

import argparse
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa
from known_blocks import (
    ICEBERG_SCHEMA,
    VALUES,
    A,
    Arrays,
    B,
    block_metadata,
    by_hand,
    data_files,
    in_duckdb,
)
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFile
from questions import QUESTIONS, Question
from rich.console import Console
from rich.table import Table
from timing import medians, named_bytes, peak_bytes

from pruning.expressions.trees import (
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Expression,
    Literal,
    Operator,
)
from pruning.expressions.types import LONG
from pruning.verdicts.classification import classify_blocks, compile_predicate

DEPTHS = (1, 2, 5, 10, 16)


def nested(depth: int) -> Expression:
    """Return IF (a > 1, IF (a > 2, ... + 1, b) + 1, b) > 5, nested `depth` deep."""
    value: Expression = A
    for level in range(depth):
        condition = Compare(Comparison.GREATER, A, Literal(level * VALUES // 20, LONG))
        value = Case(((condition, Arithmetic(Operator.ADD, value, Literal(1, LONG), LONG)),), B)
    return Compare(Comparison.GREATER, value, Literal(VALUES // 2, LONG))


def asked_of_iceberg(question: Question, files: list[DataFile]) -> float | None:
    """Return PyIceberg's seconds per file; None if it cannot express the predicate."""
    if question.iceberg is None:
        return None
    evaluator = _InclusiveMetricsEvaluator(ICEBERG_SCHEMA, question.iceberg)
    taken = medians({"iceberg": lambda: [evaluator.eval(file) for file in files]}, 1)
    return taken["iceberg"] / len(files)


def check(question: Question, metadata: pa.Table, arrays: Arrays, sql: duckdb.DuckDBPyConnection) -> None:
    """Check that the hand-written checks agree, and that they skip no block that skipproof keeps."""
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
    """Run every question on every contestant."""
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
    """Measure nested IFs: operations, time and peak memory per level."""
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
