"""The output of the command line: tables for people, JSON for programs."""

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from skipproof.commands.answers import Comparison
from skipproof.commands.flights import BLOCK_ROWS

if TYPE_CHECKING:
    from skipproof.commands.demo import DemoReport, QueryOutcome

PLAIN_WIDTH = 120
FILE_WIDTH = 1_000_000


class _Output(Console):
    """Standard output that raises where its reader closes it early."""

    def on_broken_pipe(self) -> None:
        """Raise the error; Rich would end the process with status 1, as if a violation had been found.

        Raises:
            BrokenPipeError: always.
        """
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console() -> Console:
    """Return standard output, as wide as the terminal, or `PLAIN_WIDTH` if it is no terminal."""
    output = _Output(highlight=False)
    return output if output.is_terminal else _Output(highlight=False, width=PLAIN_WIDTH)


def print_json(document: object) -> None:
    """Print one JSON document; values without a JSON type are printed as text."""
    print(json.dumps(document, indent=2, default=str))


def show_rows(out: Console, columns: Sequence[str], rows: Sequence[Any], row_count: int) -> None:
    """Print the first rows of an answer, then how many there are in all."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(escape(name), overflow="fold")
    for row in rows:
        table.add_row(*(escape("NULL" if value is None else str(value)) for value in row))
    if rows or not row_count:
        # Programs that read the output need each row on one line, however long it is.
        out.print(table, width=None if out.is_terminal else FILE_WIDTH, crop=out.is_terminal)
    rest = f", the first {len(rows):,} of them shown" if len(rows) < row_count else ""
    out.print(f"{row_count:,} {'row' if row_count == 1 else 'rows'}{rest}")


def answer_dict(
    columns: Sequence[str], rows: Sequence[Any], row_count: int, comparison: Comparison | None
) -> dict[str, object]:
    """Return an answer in JSON: its first rows, the number of all rows, and the comparison or None."""
    return {
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "row_count": row_count,
        "comparison": None if comparison is None else asdict(comparison),
    }


def show_comparison(out: Console, comparison: Comparison) -> None:
    """Say in one line whether the pruned answer is the whole answer."""
    if not comparison.same:
        out.print(
            f"DIFFERENT from the answer that skips nothing: {escape(comparison.difference)}", style="red"
        )
        if comparison.spark_alone:
            out.print(
                "Spark without pruning gives the same wrong rows: its own Parquet pushdown is at fault."
            )
    elif comparison.open:
        out.print(
            "The query leaves open which rows it answers with; their number is the same without skipping."
        )
    else:
        out.print("The same rows as the answer that skips nothing.")


def show_demo(out: Console, report: "DemoReport") -> None:
    """Print the demo: a table for each query, the generated examples, and one line that sums up."""
    from skipproof.commands.demo import RUNS

    out.print(
        f"{report.rows:,} flights in blocks of {BLOCK_ROWS:,} rows, Spark {report.spark}. "
        "Blocks and bytes are what Spark's tasks read, its own pushdown always on; "
        f"times are medians of {RUNS}, planning included."
    )
    for query, outcomes in groupby(report.outcomes, key=lambda outcome: outcome.query):
        out.print(f"\nWHERE {escape(query)}", style="bold", soft_wrap=True)
        out.print(_query_table(list(outcomes)))
    out.print()
    out.print(_examples_line(report), style="red" if report.examples.difference else "", soft_wrap=True)
    out.print(summary_line(report), style="bold green" if report.all_held else "bold red", soft_wrap=True)


def _query_table(outcomes: list["QueryOutcome"]) -> Table:
    """Return the table of one query's outcomes, a row for each layout."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("layout", min_width=19)
    for name in ("blocks", "Spark reads", "pruned", "Spark KB", "pruned KB", "Spark ms", "pruned ms", "rows"):
        table.add_column(name, justify="right", min_width=len(name))
    table.add_column("same rows")
    for outcome in outcomes:
        table.add_row(
            outcome.layout,
            f"{outcome.blocks}",
            f"{outcome.blocks_read_alone}",
            f"{outcome.blocks_read}",
            f"{outcome.bytes_read_alone / 1000:,.0f}",
            f"{outcome.bytes_read / 1000:,.0f}",
            f"{outcome.seconds_alone * 1000:,.0f}",
            f"{outcome.seconds * 1000:,.0f}",
            f"{outcome.rows:,}",
            "yes" if outcome.same_rows else f"NO, {outcome.rows_expected:,}",
        )
    return table


def _examples_line(report: "DemoReport") -> str:
    """Return one line about the generated examples: what share was skipped, or the first difference."""
    examples = report.examples
    if examples.difference:
        return f"Generated examples: after {examples.examples}, {escape(examples.difference)}"
    return (
        f"{examples.examples:,} generated examples: {examples.skippable:,} of {examples.blocks:,} blocks "
        f"held no matching row, {examples.skipped:,} of these and no other were skipped."
    )


def summary_line(report: "DemoReport") -> str:
    """Return one line that sums up the demo."""
    wrong = sum(not outcome.same_rows for outcome in report.outcomes)
    if not report.all_held:
        return f"FAILED: {wrong} of {len(report.outcomes)} answers differ from the oracle's."
    blocks = sum(outcome.blocks for outcome in report.outcomes)
    alone = sum(outcome.blocks_read_alone for outcome in report.outcomes)
    read = sum(outcome.blocks_read for outcome in report.outcomes)
    return (
        f"{len(report.outcomes)} queries over {report.rows:,} flights read {read:,} of {blocks:,} blocks "
        f"where Spark alone read {alone:,}, and lost no row; "
        f"nor did {report.examples.examples:,} generated examples."
    )
