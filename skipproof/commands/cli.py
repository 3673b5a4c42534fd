"""The command `skipproof`.

Exit status: 0 all held, 1 a violation was found, 2 bad usage or input, 3 the run itself failed, 130 it was
interrupted, by Ctrl-C or SIGTERM.
"""

import contextlib
import functools
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pruning.errors import InputError
from pruning.requirements import require_pyspark
from skipproof import extras, pages
from skipproof.commands import showing
from skipproof.commands.answers import first_rows, materialize, verify
from skipproof.commands.endings import HELD, UNUSABLE, VIOLATED, Commands, run_to_status
from skipproof.commands.indexes import parse_pair, show_index
from skipproof.commands.inputs import NamedTable, query_over
from skipproof.commands.progress import show_progress
from skipproof.sessions import spark_session
from strategies.engines.questions import AREAS

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
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _check_positive(seconds: float | None) -> float | None:
    """Refuse a duration that is no positive number.

    Raises:
        BadParameter: it is zero, negative, infinite or NaN.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter("give a number of seconds that is more than 0")
    return seconds


def main() -> None:
    """Run the command line; an error is printed as one sentence on standard error."""
    run_to_status(lambda: app(prog_name="skipproof"))


@app.command()
def explain(table: Tables, query: Query, runtime: Runtime = True, as_json: Json = False) -> None:
    """Say which blocks a query would skip, and why."""
    import pruning

    tables = [NamedTable.parse(text) for text in table]
    with spark_session() as spark:
        report = pruning.explain(query_over(spark, tables, query), runtime=runtime)
        if as_json:
            showing.print_json(report.to_dict())
        else:
            print(report)


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
    as_json: Json = False,
) -> None:
    """Keep beside the data which values its blocks hold, for later queries to skip by."""
    from pruning.metadata.index import indexing

    names = None if columns is None else [name.strip() for name in columns.split(",")]
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


@app.command()
def check(
    engine: Annotated[
        list[str], typer.Option("--engine", metavar="NAME", help="An engine to put on the stand. Repeatable.")
    ],
    examples: Annotated[
        int | None, typer.Option("--examples", min=1, help="Questions for each engine.", show_default="1000")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            callback=_check_positive,
            help="Time for each engine, more than 0; shrinking not counted.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed draws the same questions.")] = 0,
    area: Annotated[
        str | None,
        typer.Option("--class", metavar="|".join(AREAS), help="One class of questions.", show_default="all"),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            "--python", metavar="INTERPRETER", help="What runs the engine.", show_default="this one"
        ),
    ] = None,
    findings: Annotated[
        Path | None, typer.Option("--findings", metavar="DIR", help="Keep each finding in a folder here.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page of all of it.")
    ] = None,
    writer: Annotated[
        list[str] | None,
        typer.Option(
            "--writer",
            metavar="NAME",
            help="An engine that writes files too, beside pyarrow and the engine itself. Repeatable.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put engines on the stand: hunt for rows that their pruning loses."""
    with extras.importing(extras.STAND):
        from skipproof.commands import checking
    if area is not None and area not in AREAS:
        raise InputError(f"--class {area}: it is one of {', '.join(AREAS)}")
    request = checking.CheckRequest(
        examples=1_000 if examples is None and seconds is None else examples,
        seconds=seconds,
        seed=seed,
        area=area,
        python=python,
        findings=findings,
        writers=tuple(writer or ()),
    )
    # A folder or file that cannot be written is refused before the hunt, so that no result is lost.
    if findings is not None:
        checking.prepare_findings(findings)
    if report is not None:
        pages.check_writable(report)
    checked = checking.print_each(
        engine, request, functools.partial(show_progress, quiet=as_json), as_json=as_json
    )
    if report is not None:
        checking.write_page(checked, report)
    raise typer.Exit(VIOLATED if any(result.confirmed for result in checked) else HELD)


@app.command()
def history(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON lines or Parquet, as docs/reference/histories.md has them."
        ),
    ],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require", metavar="LEVEL", help="A level that each history must satisfy. Repeatable."
        ),
    ] = None,
    transactions: Annotated[
        str | None,
        typer.Option("--transactions", metavar="1,2,5", help="Judge these alone.", show_default="all"),
    ] = None,
    literal: Annotated[
        bool, typer.Option("--literal", help="Take the paper's clause on derived versions as written.")
    ] = False,
    convert: Annotated[
        Path | None,
        typer.Option("--convert", metavar="FILE", help="Write the histories as .jsonl or .parquet; no more."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page of all of it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, a line for each history.")] = False,
) -> None:
    """Check recorded histories for isolation anomalies, also through derived data."""
    with extras.importing(extras.HISTORIES):
        from skipproof.histories import judging
    if convert is not None:
        if require or transactions is not None or literal or report is not None or as_json:
            raise InputError("--convert: it judges nothing; give it no other option")
        count = judging.convert_file(file, convert)
        print(f"{count:,} {'history' if count == 1 else 'histories'} written to {convert}")
        return
    request = judging.parse_request(require or (), transactions, literal=literal)
    if report is not None:
        pages.check_writable(report)
    kept, status = [], HELD
    for judged in judging.judge_histories(file, request):
        if as_json:
            print(json.dumps(judged.result.to_dict(), ensure_ascii=False))
        else:
            judging.show_history(showing.console(), judged)
        if judged.result.problem is not None:
            print(f"skipproof: {file}, {judged.place}: {judged.result.problem}", file=sys.stderr)
            status = UNUSABLE
        elif judged.failed:
            status = max(status, VIOLATED)
        if report is not None:
            kept.append(judged)
    if report is not None:
        from skipproof.histories.report import write_report

        write_report(kept, report)
    raise typer.Exit(status)


@app.command()
def simulate(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A .toml file; docs/how-to/design-a-warehouse.md shows one."),
    ],
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="One seed.", show_default="the scenario's own")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="FIRST:COUNT", help="A range of seeds.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write one seed's events as JSON lines.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="KEY=VALUE", help="Of what the scenario varies: run this value only."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write an HTML page of all of it, with pictures."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a scenario in the simulator and check every trace."""
    with extras.importing(extras.SIMULATOR):
        from skipproof.simulations import simulating
    if seed is not None and seeds is not None:
        raise InputError("--seed and --seeds: give one of them")
    if trace is not None and seed is None:
        raise InputError("--trace: it is of one seed: give --seed N")
    if report is not None:
        with extras.importing(extras.SIMULATION_REPORTS):
            from skipproof.simulations.report import write_report
    # Files that cannot be written are refused before the first run.
    for path in (report, trace):
        if path is not None:
            pages.check_writable(path)
    chosen = (
        simulating.parse_seeds(seeds)
        if seeds is not None
        else None
        if seed is None
        else range(seed, seed + 1)
    )
    with show_progress(quiet=as_json) as step:
        simulated = simulating.simulate(file, chosen, only or [], step)
    if as_json:
        showing.print_json(simulated.to_dict())
    else:
        simulating.show_result(showing.console(), simulated)
    if trace is not None:
        assert seed is not None, "a trace without a seed was refused above"
        simulating.write_trace(file, seed, only or [], trace)
    if report is not None:
        write_report(simulated, report)
    raise typer.Exit(HELD if simulated.all_held else VIOLATED)


@app.command()
def prove(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="[RULE]",
            help="A rule (`upper`), a family of rules (`text`), or one proof (`text: upper =`).",
            show_default="all",
        ),
    ] = None,
    predicate: Annotated[
        str | None,
        typer.Option("--predicate", metavar="SQL", help="Prove the program of this condition. Needs Spark."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="TYPES", help="The predicate's columns: a int, b string."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME=PATH", help="Parquet that has the predicate's columns."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", callback=_check_positive, help="Time for each proof; status 3 where it ends."
        ),
    ] = 60.0,
    as_json: Json = False,
) -> None:
    """Prove rules for all blocks and rows, and say which mutants of them the proofs refute."""
    with extras.importing(extras.PROOFS):
        from skipproof.commands import proving
    if predicate is None and (columns is not None or table is not None):
        raise InputError("--columns and --table: they are for --predicate; give it too")
    if predicate is not None and rule is not None:
        raise InputError("RULE and --predicate: give one of them")
    if predicate is not None:
        run = proving.prove_program(predicate, columns=columns, table=table, seconds=seconds)
    else:
        with show_progress(quiet=as_json) as step:
            run = proving.prove_rules(rule, seconds=seconds, step=step)
    if as_json:
        showing.print_json(run.to_dict())
    else:
        proving.show(showing.console(), run)
    raise typer.Exit(run.status)


@contextlib.contextmanager
def _lake_directory(named: Path | None) -> Iterator[Path]:
    """Yield the directory of the demo's files, a temporary one unless it is named."""
    if named is not None:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="skipproof-lake-") as temporary:
        yield Path(temporary)
