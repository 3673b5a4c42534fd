"""The command `skipproof`: its commands on tables and files here, those that check something in `cli_checks`,
those on warehouses of dynamic tables in `cli_tables`.

Exit status: 0 all held, 1 a violation was found, 2 bad usage or input, 3 the run itself failed, 130 it was
interrupted, by Ctrl-C or SIGTERM.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pruning.errors import InputError
from pruning.requirements import require_pyspark
from skipproof.commands import cli_checks, cli_tables, showing
from skipproof.commands.answers import first_rows, materialize, verify
from skipproof.commands.cli_options import Json
from skipproof.commands.endings import HELD, UNUSABLE, VIOLATED, Commands, run_to_status
from skipproof.commands.indexes import parse_pair, show_backfill, show_index
from skipproof.commands.inputs import NamedTable, query_over
from skipproof.commands.progress import show_progress
from skipproof.sessions import spark_session

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="May this scan skip this block, and can we prove it? "
    "Exit status: 0 all held, 1 a violation was found, 2 bad usage or input, 3 the run itself failed, "
    "130 it was interrupted.",
)

Tables = Annotated[
    list[str],
    typer.Option("--table", metavar="NAME=PATH", help="A table of the query, and its Parquet. Repeatable."),
]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT in Spark SQL.")]
Runtime = Annotated[
    bool,
    typer.Option("--runtime/--metadata-only", help="Run small parts of the query first, to skip more."),
]


def main() -> None:
    """Run the command line; an error is printed as one sentence on standard error."""
    run_to_status(lambda: app(prog_name="skipproof"))


@app.command()
def explain(
    table: Tables,
    query: Query,
    runtime: Runtime = True,
    why: Annotated[
        bool, typer.Option("--why", help="Say why techniques remove nothing, and what would change that.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say which blocks a query would skip, and why."""
    import pruning

    tables = [NamedTable.parse(text) for text in table]
    with spark_session() as spark:
        report = pruning.explain(query_over(spark, tables, query), runtime=runtime)
        answer = report.why() if why else report
        if as_json:
            showing.print_json(answer.to_dict())
        else:
            print(answer)


@app.command()
def query(
    table: Tables,
    query: Query,
    compare: Annotated[
        bool, typer.Option("--compare", help="Run it without any skipping too, and compare the rows.")
    ] = False,
    rows: Annotated[int, typer.Option("--rows", min=0, help="How many rows to print.")] = 20,
    runtime: Runtime = True,
    as_json: Json = False,
) -> None:
    """Run a query pruned."""
    import pruning

    tables = [NamedTable.parse(text) for text in table]
    with spark_session() as spark:
        frame = query_over(spark, tables, query)
        answer = pruning.prune(frame, runtime=runtime)
        if compare:
            answer = materialize(answer)
        first, row_count = first_rows(answer, rows)
        out = showing.console()
        if not as_json:
            showing.show_rows(out, frame.columns, first, row_count)
        comparison = verify(frame, query, answer) if compare else None
        if as_json:
            showing.print_json(showing.answer_dict(frame.columns, first, row_count, comparison))
        elif comparison is not None:
            showing.show_comparison(out, comparison)
    if comparison is not None and not comparison.same:
        raise typer.Exit(VIOLATED)


@app.command()
def describe(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A Parquet file, a directory or a URI.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the data too, and say where a file lies about itself.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Describe the metadata of files: what is missing, what is not believed, how blocks overlap."""
    from skipproof.commands import describing, showing_health

    description = describing.describe(path, verified=verify)
    if as_json:
        showing.print_json(description.to_dict())
    else:
        showing_health.show_description(showing.console(), description)
    if description.lies:
        raise typer.Exit(VIOLATED)
    if description.problems:
        raise typer.Exit(UNUSABLE)


@app.command()
def blocks(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A Parquet file, a directory or a URI.")],
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B", help="The columns to show.", show_default="all")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="A time at which the directory had been collected."),
    ] = None,
    sql: Annotated[
        str | None, typer.Option("--sql", metavar="QUERY", help="A SELECT on the table `blocks`.")
    ] = None,
    looks: Annotated[
        bool, typer.Option("--looks", help="Show the times that --as-of tells apart instead.")
    ] = False,
    rows: Annotated[int, typer.Option("--rows", min=0, help="How many rows to print.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what is believed of each column in each row group, and why the rest is not."""
    from skipproof.commands import block_tables

    if looks:
        names, first, row_count = block_tables.looks(path, rows)
    else:
        chosen = None if columns is None else [name.strip() for name in columns.split(",")]
        names, first, row_count = block_tables.blocks(path, chosen, as_of, sql, rows)
    if as_json:
        showing.print_json(showing.answer_dict(names, first, row_count, None))
    else:
        showing.show_rows(showing.console(), names, first, row_count)


@app.command()
def index(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Parquet: a file or a directory.")],
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B", help="The columns to index.", show_default="all"),
    ] = None,
    bytes_per_block: Annotated[
        int | None,
        typer.Option(
            "--bytes-per-block",
            min=0,
            help="What to keep of a column in a block at most.",
            show_default="1024, and 12 bits for each value of columns that are named",
        ),
    ] = None,
    bits_per_value: Annotated[
        float | None,
        typer.Option(
            "--bits-per-value",
            min=0,
            max=64,
            help="What a bloom filter may take where that is more; 12 are wrong once in 200 times.",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        list[str] | None,
        typer.Option("--points", metavar="LAT,LON", help="Two columns that are a latitude and a longitude."),
    ] = None,
    read_data: Annotated[
        bool, typer.Option("--data/--no-data", help="Read the columns, or only the files' own bloom filters.")
    ] = True,
    bounds: Annotated[
        bool,
        typer.Option("--bounds", help="Compute bounds and counts from the data instead, for each row group."),
    ] = False,
    pages: Annotated[bool, typer.Option("--pages", help="With --bounds, for each page.")] = False,
    as_json: Json = False,
) -> None:
    """Keep beside the data which values its blocks hold, for later queries to skip by."""
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    if bounds:
        if points or not read_data or bytes_per_block is not None or bits_per_value is not None:
            raise InputError(
                "--bounds goes with --columns, --pages and --json alone; run `skipproof index` twice."
            )
        _backfill(path, names, level="page" if pages else "row_group", as_json=as_json)
        return
    if pages:
        raise InputError("--pages goes with --bounds; give both, or neither.")
    from pruning.metadata.index import indexing

    pairs = [parse_pair(text) for text in points or ()]
    report = indexing.index(
        path,
        names,
        points=pairs,
        bytes_per_block=bytes_per_block,
        bits_per_value=bits_per_value,
        read_data=read_data,
    )
    if as_json:
        showing.print_json(report.to_dict())
    else:
        show_index(showing.console(), report)


def _backfill(path: str, names: list[str] | None, *, level: str, as_json: bool) -> None:
    from pruning.metadata.backfill.backfilling import backfill_in_steps

    with show_progress(quiet=as_json) as step:
        report = backfill_in_steps(path, names, level=level, step=step)
    if as_json:
        showing.print_json(report.to_dict())
    else:
        show_backfill(showing.console(), report)


@app.command()
def demo(
    lake: Annotated[
        Path | None,
        typer.Option("--lake", help="Keep the files in this directory.", show_default="a temporary one"),
    ] = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="How many generated examples.")] = 300,
    as_json: Json = False,
) -> None:
    """Ask real data eight questions in five layouts, pruned and unpruned, and compare every answer."""
    require_pyspark()
    from skipproof.commands.demo import run

    with _lake_directory(lake) as root, show_progress(quiet=as_json) as step:
        report = run(root, examples=examples, step=step)
    if as_json:
        showing.print_json(report.to_dict())
    else:
        showing.show_demo(showing.console(), report)
    raise typer.Exit(HELD if report.all_held else VIOLATED)


@contextlib.contextmanager
def _lake_directory(named: Path | None) -> Iterator[Path]:
    """Yield the directory of the demo's files, a temporary one unless it is named."""
    if named is not None:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="skipproof-lake-") as temporary:
        yield Path(temporary)


# The help lists commands in the order in which they are registered.
for command in (
    cli_checks.check,
    cli_checks.campaign,
    cli_checks.history,
    cli_checks.simulate,
    cli_checks.prove,
):
    app.command()(command)
app.add_typer(cli_tables.tables, name="tables")
