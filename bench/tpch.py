"""The 22 queries of TPC-H: whether the pruned answers are Spark's own, and how many blocks are pruned.

    python bench/tpch.py [--scale N] [--directory DIR] [--queries 1,6] [--markdown]

`lineitem` is sorted by ship date and `orders` by order date, and a block is a row group of 10,000 rows.
Counted as in [P] 8.3: of each query the pruned blocks of all its scans, by all blocks of these. A table that
is scanned twice counts twice, and scans without a predicate count. Exit status: 1 where an answer
differs or a query raises, 2 where something is not installed.
"""

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tpch_data import TABLES, tables, texts

import pruning
from pruning.errors import InputError
from skipproof.commands.answers import compare, is_open, materialize
from skipproof.sessions import spark_session

# [P] 8.3: scale 100, clustered by the same columns; in percent.
PAPER_MEAN, PAPER_MEDIAN = 28.7, 8.3
TECHNIQUES = ("filter", "join", "limit", "top-k")
_SETTINGS = {"spark.driver.memory": "4g"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One query: blocks of all its scans, those that each technique removed, and the answers.

    `answer` is "same", "open" where the rows differ as SQL allows, or what is wrong.
    """

    query: int
    blocks: int
    removed: Counter[str]
    answer: str

    @property
    def right(self) -> bool:
        """True if the answer is one that Spark may give."""
        return self.answer in ("same", "open")

    def percent(self, *techniques: str) -> float:
        """Return the share of blocks that some techniques removed; of all techniques if none is named."""
        chosen = techniques or tuple(self.removed)
        return 100 * sum(self.removed[technique] for technique in chosen) / max(self.blocks, 1)


class Blocks:
    """The numbers of blocks of tables, for scans whose report lacks them; each table is read once."""

    def __init__(self) -> None:
        """Start without any counts."""
        self._known: dict[tuple[str, ...], int] = {}

    def of(self, paths: list[str]) -> int:
        """Return the row groups of the files under `paths`."""
        key = tuple(paths)
        if key not in self._known:
            self._known[key] = pruning.collect(paths).num_rows
        return self._known[key]


def outcome(spark: SparkSession, number: int, text: str, blocks: Blocks) -> Outcome:
    """Run one query with and without pruning."""
    total, removed = 0, Counter[str]()
    try:
        for scan in pruning.explain(spark.sql(text)).to_dict()["scans"]:
            known = scan["blocks_total"]
            total += blocks.of(scan["paths"]) if known is None else known
            for removal in scan["removals"]:
                removed[removal["technique"]] += removal["blocks"]
        frame = spark.sql(text)
        found, expected = materialize(pruning.prune(frame)), materialize(frame)
        compared = compare(found, expected, open_answer=is_open(frame))
        answer = ("open" if compared.open else "same") if compared.same else compared.difference
    except PySparkException as error:
        answer = f"raised {type(error).__name__}: {str(error).splitlines()[0]}"
    return Outcome(
        query=number,
        blocks=total,
        removed=removed,
        answer=answer,
    )


def rows_of(outcomes: list[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield the table, heading first."""
    named = tuple(f"by {technique}" for technique in TECHNIQUES)
    yield ("query", "blocks", *named, "by filter, %", "pruned, %", "answer")
    for one in outcomes:
        yield (
            str(one.query),
            f"{one.blocks:,}",
            *(f"{one.removed[technique]:,}" for technique in TECHNIQUES),
            *(f"{share:.1f}" for share in (one.percent("filter"), one.percent())),
            one.answer if one.right else "WRONG",
        )


def summary(outcomes: list[Outcome]) -> Iterator[str]:
    """Return the summary over all queries."""
    filtered = [one.percent("filter") for one in outcomes]
    pruned = [one.percent() for one in outcomes]
    yield (
        f"Pruned by filter, per query: mean {statistics.mean(filtered):.1f} %, median "
        f"{statistics.median(filtered):.1f} % (the paper, at scale 100: {PAPER_MEAN} % and {PAPER_MEDIAN} %)."
    )
    yield (
        f"By all techniques: mean {statistics.mean(pruned):.1f} %, median {statistics.median(pruned):.1f} %."
    )
    right = sum(one.right for one in outcomes)
    yield f"{right} of {len(outcomes)} answers are Spark's own."
    yield from (f"Query {one.query} is wrong: {one.answer}" for one in outcomes if not one.right)


def print_plain(outcomes: list[Outcome]) -> None:
    """Print a table for a terminal."""
    heading, *rows = rows_of(outcomes)
    grid = Table(title="TPC-H")
    for name in heading:
        grid.add_column(name, justify="right")
    for row in rows:
        grid.add_row(*row)
    console = Console(width=130)
    console.print(grid)
    for sentence in summary(outcomes):
        console.print(sentence, markup=False, soft_wrap=True)


def print_markdown(outcomes: list[Outcome]) -> None:
    """Print a table for `docs/reference/tpc-h.md`."""
    heading, *rows = rows_of(outcomes)
    for row in (heading, ("---:",) * len(heading), *rows):
        print(f"| {' | '.join(row)} |")
    for sentence in summary(outcomes):
        print(f"\n{sentence}")


def run(arguments: argparse.Namespace, directory: Path) -> list[Outcome]:
    """Make the tables and ask.

    Raises:
        InputError: something is not installed.
    """
    asked = texts()
    chosen = arguments.queries or sorted(asked)
    lake = tables(directory, arguments.scale)
    with spark_session(_SETTINGS) as spark:
        for name in TABLES:
            spark.read.parquet(str(lake / name)).createOrReplaceTempView(name)
        blocks, shown = Blocks(), Console(stderr=True)
        numbers = track(chosen, "queries", console=shown, disable=not sys.stderr.isatty())
        return [outcome(spark, number, asked[number], blocks) for number in numbers]


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if not all(1 <= number <= 22 for number in numbers):
        raise argparse.ArgumentTypeError("queries have the numbers 1 to 22")
    return numbers


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="GB of data (default %(default)s)")
    parser.add_argument("--directory", type=Path, help="keep the tables here, and use those that are here")
    parser.add_argument("--queries", type=_numbers, help="only these, as in 1,6")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        try:
            outcomes = run(arguments, directory)
        except InputError as error:
            print(error, file=sys.stderr)
            sys.exit(2)
    (print_markdown if arguments.markdown else print_plain)(outcomes)
    sys.exit(0 if all(one.right for one in outcomes) else 1)


if __name__ == "__main__":
    main()
