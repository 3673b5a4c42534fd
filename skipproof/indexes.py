"""How the command line shows an index: what is kept of each column, in how many blocks, and its size."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.metadata.indexing import IndexReport


def show_index(out: Console, report: IndexReport) -> None:
    """Print a line for each column, what all of it takes, what did not fit, and what could not be indexed."""
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
