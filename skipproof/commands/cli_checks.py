"""The commands that check something: engines, recorded histories, scenarios and rules."""

import contextlib
import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pruning.errors import InputError
from skipproof import extras, pages
from skipproof.commands import showing
from skipproof.commands.cli_options import Json, check_positive
from skipproof.commands.endings import HELD, UNUSABLE, VIOLATED
from skipproof.commands.progress import show_progress
from strategies.engines.questions import AREAS

if TYPE_CHECKING:
    from skipproof.histories import judging

Findings = Annotated[
    Path | None,
    typer.Option("--findings", metavar="DIR", help="Keep a finding of each cause in a folder here."),
]
UpstreamReports = Annotated[
    Path | None,
    typer.Option(
        "--report-upstream",
        metavar="DIR",
        help="Write an issue for the engine's tracker, with a script, for each cause here.",
    ),
]
CorpusFolder = Annotated[
    Path | None,
    typer.Option(
        "--corpus",
        metavar="DIR",
        help="Ask first what is kept here, and keep the questions that show something new.",
    ),
]
Writers = Annotated[
    list[str] | None,
    typer.Option(
        "--writer",
        metavar="NAME",
        help="An engine that writes files too, beside pyarrow and the engine itself. Repeatable.",
    ),
]
WriterPython = Annotated[
    str | None,
    typer.Option(
        "--writer-python",
        metavar="INTERPRETER",
        help="With --writer: what runs it; so it may be of another release.",
        show_default="this one",
    ),
]


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
            callback=check_positive,
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
    findings: Findings = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page of all of it.")
    ] = None,
    report_upstream: UpstreamReports = None,
    corpus: CorpusFolder = None,
    writer: Writers = None,
    writer_python: WriterPython = None,
    as_json: Json = False,
) -> None:
    """Put engines on the stand: hunt for rows that their pruning loses."""
    with extras.importing(extras.STAND):
        from skipproof.commands import checking
    if area is not None and area not in AREAS:
        raise InputError(f"--class {area}: it is one of {', '.join(AREAS)}")
    if writer_python is not None and not writer:
        raise InputError("--writer-python: it runs a --writer; give one too")
    request = checking.CheckRequest(
        examples=1_000 if examples is None and seconds is None else examples,
        seconds=seconds,
        seed=seed,
        area=area,
        python=python,
        findings=findings,
        upstream=report_upstream,
        corpus=corpus,
        writers=tuple(writer or ()),
        writer_python=writer_python,
    )
    checking.prepare_outputs(request, report)
    progress = functools.partial(show_progress, quiet=as_json)
    checked = checking.print_each(engine, request, progress, as_json=as_json)
    if report is not None:
        checking.write_page(checked, report)
    raise typer.Exit(VIOLATED if any(result.confirmed for result in checked) else HELD)


def campaign(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A .toml file; docs/how-to/run-a-campaign.md shows one."),
    ],
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="DIR", help="The directory of results.", show_default="the file's"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="One seed.", show_default="the file's")
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option("--compare", metavar="DIR", help="The results of an earlier campaign. Repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Hunt in several engines and releases for hours, in slices that a killed run resumes."""
    with extras.importing(extras.CAMPAIGNS):
        from skipproof.commands import campaigning
    request = campaigning.CampaignRequest(file=file, results=results, seed=seed, compare=tuple(compare or ()))
    result = campaigning.run_campaign(request, quiet=as_json)
    if as_json:
        showing.print_json(result.to_dict())
    else:
        campaigning.show_campaign(showing.console(), result)
    raise typer.Exit(VIOLATED if result.has_causes else HELD)


def history(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="JSON lines or Parquet, as docs/reference/histories.md has them."
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="PATH", help="Instead of FILE: a Delta Lake or Iceberg table, from its log."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="With --table: a row's key column. Repeatable."),
    ] = None,
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
    if (file is None) == (table is None) or (key and table is None):
        raise InputError("history: give FILE, or --table PATH and maybe --key COLUMN")
    if convert is not None and (require or transactions is not None or literal or report or as_json):
        raise InputError("--convert: it judges nothing; give it no other option")
    request = judging.parse_request(require or (), transactions, literal=literal)
    if report is not None:
        pages.check_writable(report)
    with contextlib.ExitStack() as stack:
        if table is not None:
            from skipproof.commands.table_logs import recorded_file

            file = stack.enter_context(recorded_file(table, tuple(key or ())))
        assert file is not None
        if convert is not None:
            count = judging.convert_file(file, convert)
            print(f"{count:,} {'history' if count == 1 else 'histories'} written to {convert}")
            return
        status = _judge_histories(file, request, report, as_json=as_json)
    raise typer.Exit(status)


def _judge_histories(
    file: Path, request: "judging.HistoryRequest", report: Path | None, *, as_json: bool
) -> int:
    """Judge the histories of a file, show them, and return the exit status."""
    from skipproof.histories import judging

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
    return status


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
            "--seconds", callback=check_positive, help="Time for each proof; status 3 where it ends."
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
