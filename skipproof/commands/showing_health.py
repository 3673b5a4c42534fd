"""The command line's view of the health of block metadata."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.metadata.views.clustering import Clustering
from pruning.metadata.views.verifying import FalseClaim
from skipproof.commands.describing import ColumnHealth, Description, DoubtCount

_BARS = "▁▂▃▄▅▆▇█"
LIES_SHOWN = 50


def show_description(out: Console, description: Description) -> None:
    """Print the sizes, a line for each column, the doubts, and the statistics that the data contradicts."""
    data = "unknown" if description.data_bytes is None else f"{description.data_bytes:,} bytes"
    out.print(
        f"{description.rows:,} rows in {description.blocks:,} row groups of {description.files:,} files; "
        f"data {data}, "
        f"footers {description.footer_bytes:,} bytes, block metadata {description.metadata_bytes:,} bytes.",
        soft_wrap=True,
    )
    out.print(_columns_table(description))
    if any(column.clustering for column in description.columns):
        out.print(
            "depth: how many row groups hold a bound, on average; 1 is without overlap. "
            "overlap: how many hold a value, from the least to the greatest.",
            soft_wrap=True,
        )
    if any(column.doubted for column in description.columns):
        out.print("\nNot believed", style="bold")
        out.print(_doubts_table(description.columns))
    for name in description.left_out:
        out.print(f"Left out: {escape(name)}, not read as a type with bounds.", soft_wrap=True)
    for sentence in (*description.notes, *description.problems):
        out.print(escape(sentence), style="yellow", soft_wrap=True)
    if description.checked is not None:
        _show_lies(out, description)


def _columns_table(description: Description) -> Table:
    """Return the table of columns, a row for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("column", overflow="fold")
    table.add_column("type")
    for name in ("bounds", "NULL counts", "depth"):
        table.add_column(name, justify="right")
    table.add_column("overlap", no_wrap=True)
    for column in description.columns:
        clustering = column.clustering
        table.add_row(
            escape(column.name),
            column.type,
            _share_text(column.bounded, description.blocks),
            _share_text(column.null_counted, description.blocks),
            "" if clustering is None else f"{clustering.depth:,.1f}",
            "" if clustering is None else _overlap_bars(clustering),
        )
    return table


def _doubts_table(columns: Sequence[ColumnHealth]) -> Table:
    """Return the table of doubts, a row for each column and doubt."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("column", overflow="fold")
    table.add_column("row groups", justify="right")
    table.add_column("doubt")
    table.add_column("because", overflow="fold")
    for column, doubted in _doubts_by_column(columns):
        table.add_row(escape(column), f"{doubted.blocks:,}", doubted.doubt, doubted.reason)
    return table


def _doubts_by_column(columns: Sequence[ColumnHealth]) -> list[tuple[str, DoubtCount]]:
    """Return each doubt with the name of its column."""
    return [(column.name, doubted) for column in columns for doubted in column.doubted]


def _share_text(part: int, whole: int) -> str:
    """Return a share in words or percent."""
    return "none" if part == 0 else "all" if part == whole else f"{100 * part / whole:.1f} %"


def _overlap_bars(clustering: Clustering) -> str:
    """Return a bar for each value; its height is the number of row groups whose range contains the value."""
    most = max(max(clustering.picture), 1)
    return "".join(_BARS[(len(_BARS) - 1) * count // most] for count in clustering.picture)


def _show_lies(out: Console, description: Description) -> None:
    """Print the comparison of the statistics with the data."""
    checked = description.checked or ()
    claims = sum(file.claims for file in checked)
    lies = [lie for file in checked for lie in file.lies]
    if not lies:
        out.print(f"{claims:,} statements compared with the data, and none is false.", style="bold green")
        return
    out.print(_lies_table(lies[:LIES_SHOWN]))
    rest = f", the first {LIES_SHOWN} of them shown" if len(lies) > LIES_SHOWN else ""
    out.print(
        f"FALSE: {len(lies):,} of {claims:,} statements compared with the data{rest}.", style="bold red"
    )


def _lies_table(lies: Sequence[FalseClaim]) -> Table:
    """Return the table of statistics that the data contradicts."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("file", "row group", "column", "statement", "file says", "data say"):
        table.add_column(name, overflow="fold")
    for lie in lies:
        row = (lie.file, str(lie.row_group), lie.column, lie.claim, lie.says, lie.data)
        table.add_row(*map(escape, row))
    return table
