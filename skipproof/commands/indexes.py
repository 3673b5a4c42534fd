"""The command line's view of an index, and of statistics that were computed from the data."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.errors import InputError
from pruning.metadata.backfill.backfilling import BackfillReport
from pruning.metadata.index.indexing import IndexReport


def show_index(out: Console, report: IndexReport) -> None:
    """Print a line for each column, the size of the index, shortages, and files that could not be indexed."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("column", overflow="fold")
    table.add_column("type")
    for name in ("blocks", "dictionary", "rare values", "filter", "bucket", "bytes a block"):
        table.add_column(name, justify="right")
    for column in report.columns:
        counts = (column.blocks, column.dictionary, column.rare, column.filter, column.bucket)
        size = f"{column.bytes_per_block:,.0f}"
        table.add_row(escape(column.name), column.type, *(f"{count:,}" for count in counts), size)
    out.print(table)
    for point in report.points:
        size = f"{point.bytes_per_block:,.0f} bytes a block"
        out.print(escape(f"points of {', '.join(point.names)}: {point.blocks:,} blocks covered; {size}"))
    out.print(f"{report.files:,} files, {report.blocks:,} blocks, {report.bytes:,} bytes kept")
    for column in report.columns:
        if column.shortage:
            out.print(escape(column.shortage), style="yellow", soft_wrap=True)
    for sentence in report.failures.values():
        out.print(f"not indexed: {escape(sentence)}", style="red", soft_wrap=True)


def show_backfill(out: Console, report: BackfillReport) -> None:
    """Print a line for each column, the size of what is kept, and files that could not be measured."""
    if report.columns:
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("column", overflow="fold")
        table.add_column("type")
        has_pages = any(column.pages for column in report.columns)
        for name in ("row groups", "measured", *(["pages"] if has_pages else [])):
            table.add_column(name, justify="right")
        for column in report.columns:
            counts = [column.row_groups, column.measured, *([column.pages] if has_pages else [])]
            table.add_row(escape(column.name), column.type, *(f"{count:,}" for count in counts))
        out.print(table)
    out.print(report.summary, soft_wrap=True)
    for sentence in report.failures.values():
        out.print(f"not measured: {escape(sentence)}", style="red", soft_wrap=True)


def parse_pair(text: str) -> tuple[str, str]:
    """Return the two column names of LAT,LON: the latitude's and the longitude's.

    Raises:
        InputError: it does not name two columns.
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(f"--points {text}: give a latitude's and a longitude's column, as LAT,LON.")
    return names[0], names[1]
