"""`skipproof check`: hunts of several engines, their printed reports and their folders of findings."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.errors import InputError
from skipproof import pages
from skipproof.commands.showing import console, print_json
from skipproof.stand.hunt.corpus import Corpus, UnreadableCorpus
from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.findings import (
    ConfirmedFinding,
    blame_text,
    confirm_all,
    engine_folder,
    finding_summary,
    folder_names,
    question_dict,
    save_finding,
)
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.upstream import save_report, upstream_report
from skipproof.stand.hunt.writing import available_writers, make_write, writer_name
from skipproof.stand.report.report import write_report
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Hello, Worker, WorkerError

SECONDS_BETWEEN = 2.0
# High enough for hunts of hours; the findings are grouped into causes.
FINDINGS_MAX = 300
_PLACES_SHOWN = 3

ProgressCallback: TypeAlias = Callable[[str, int, int], None]
ProgressContext: TypeAlias = Callable[[], contextlib.AbstractContextManager[ProgressCallback]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The options of `skipproof check`.

    Attributes:
        examples: Questions for each engine at most; None is no limit.
        seconds: Time for each engine at most, shrinking not counted; None is no limit.
        area: The one class of questions, or None for all that the engine answers.
        python: The interpreter of the workers.
        findings: Where a folder is made for each cause; None makes none.
        upstream: Where a folder is made for the report of each cause to its engine; None makes none.
        corpus: Where the questions that show something new are kept, for later hunts; None keeps none.
        writers: Engines that write files too, beside pyarrow and the engine itself.
        writer_python: The interpreter of the workers of `writers`.
    """

    examples: int | None
    seconds: float | None
    seed: int = 0
    area: str | None = None
    python: str | None = None
    findings: Path | None = None
    upstream: Path | None = None
    corpus: Path | None = None
    writers: tuple[str, ...] = ()
    writer_python: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHunt:
    """The finished hunt of one engine."""

    hello: Hello
    request: CheckRequest
    areas: tuple[str, ...]
    hunt: Hunt
    confirmed: tuple[ConfirmedFinding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the hunt in JSON, with everything that a report shows of its findings."""
        names = folder_names(self.confirmed)
        return {
            "engine": self.hello.engine,
            "version": self.hello.version,
            "seed": self.request.seed,
            "areas": list(self.areas),
            "examples": self.hunt.examples,
            "seconds": round(self.hunt.seconds, 1),
            "examples_per_second": round(self.hunt.examples / max(self.hunt.seconds, 1e-9), 1),
            "seconds_shrinking": round(self.hunt.seconds_shrinking, 1),
            "interrupted": self.hunt.interrupted,
            "refused": dict(self.hunt.refused.most_common()),
            "no_opinion": dict(self.hunt.no_opinion.most_common()),
            "tightness": [
                {"family": family, "skippable": count, "skipped": self.hunt.skipped[family]}
                for family, count in sorted(self.hunt.skippable.items())
            ],
            "fences": [
                {"traits": sorted(fence.traits), "count": self.hunt.fenced[fence.ordinal]}
                for fence in self.hunt.fences
            ],
            "findings": [
                _finding_dict(self.hello, name, confirmed)
                for name, confirmed in zip(names, self.confirmed, strict=True)
            ],
        }


def check_each(
    names: Sequence[str], request: CheckRequest, progress: ProgressContext
) -> Generator[EngineHunt, None, None]:
    """Hunt in one engine after the other, and yield each hunt; stop after an interrupted one.

    The folders of an engine's findings are written after its hunt was yielded, so that an error of writing
    does not lose the hunt.

    Args:
        progress: The context manager that is opened for each hunt, and closed before the hunt is yielded.
    Raises:
        InputError: there is no such engine, it does not start, it has no such class of questions, or
            the findings cannot be written.
    """
    for name in names:
        with contextlib.ExitStack() as stack:
            worker = stack.enter_context(_start_worker(name, "--engine", python=request.python))
            workers = {name: worker}
            for writer in request.writers:
                if worker.hello.tables == "own":
                    raise InputError(f"--writer {writer}: {name} makes its tables itself")
                started = stack.enter_context(_start_worker(writer, "--writer", python=request.writer_python))
                if not started.hello.writes:
                    raise InputError(f"--writer {writer}: it does not write files")
                if (started.hello.engine, started.hello.version) != (name, worker.hello.version):
                    workers[writer_name(started.hello)] = started
            try:
                with progress() as say:
                    checked = _check(worker, request, workers, say)
                yield checked
                _save_findings(worker, checked, write=make_write(workers))
                _save_upstream_reports(worker, checked, write=make_write(workers))
            except WorkerError as error:
                raise InputError(f"--engine {name}: {error}") from error
        if checked.hunt.interrupted:
            break


def print_each(
    names: Sequence[str], request: CheckRequest, progress: ProgressContext, *, as_json: bool
) -> list[EngineHunt]:
    """Hunt in each engine as `check_each` does, and print each hunt as soon as it ends.

    Args:
        as_json: Print all hunts together as one JSON document, even if a later one raises.
    Returns:
        The hunts in the order of the engines.
    Raises:
        InputError: as `check_each`.
    """
    hunts: list[EngineHunt] = []
    try:
        with contextlib.closing(check_each(names, request, progress)) as ended:
            for checked in ended:
                hunts.append(checked)
                if not as_json:
                    show_hunt(console(), checked)
    finally:
        if as_json and hunts:
            print_json([checked.to_dict() for checked in hunts])
    return hunts


def _save_findings(worker: Worker, checked: EngineHunt, *, write: Write) -> None:
    """Write the folders of a hunt's findings, if the options ask for them."""
    if checked.request.findings is None:
        return
    directory = engine_folder(checked.request.findings, checked.hello)
    try:
        for name, confirmed in zip(folder_names(checked.confirmed), checked.confirmed, strict=True):
            save_finding(worker, confirmed, directory / name, write=write)
    except OSError as error:
        raise _unwritable("--findings", directory, error) from error


def _save_upstream_reports(worker: Worker, checked: EngineHunt, *, write: Write) -> None:
    """Write the report of each finding of a hunt to its engine, if the options ask for them."""
    if checked.request.upstream is None:
        return
    directory = engine_folder(checked.request.upstream, checked.hello)
    try:
        for name, confirmed in zip(folder_names(checked.confirmed), checked.confirmed, strict=True):
            report = upstream_report(worker, confirmed, write=write, python=checked.request.python)
            save_report(report, directory / name)
    except OSError as error:
        raise _unwritable("--report-upstream", directory, error) from error


def prepare_outputs(request: CheckRequest, report: Path | None) -> None:
    """Make the folders that a request names, and check that they and the report can be written.

    So they are refused before the hunt, and no result is lost.

    Raises:
        InputError: one of them cannot be written.
    """
    options = {
        "--findings": request.findings,
        "--report-upstream": request.upstream,
        "--corpus": request.corpus,
    }
    for option, directory in options.items():
        if directory is not None:
            prepare_folder(option, directory)
    if report is not None:
        pages.check_writable(report)


def prepare_folder(option: str, directory: Path) -> None:
    """Make the directory that an option or a key of a file names, and check that a folder can be made in it.

    Raises:
        InputError: no folder can be made there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory):
            pass
    except OSError as error:
        raise _unwritable(option, directory, error) from error


def _unwritable(option: str, directory: Path, error: OSError) -> InputError:
    """Return the error for a directory that cannot be written."""
    return InputError(f"{option} {directory}: it cannot be written: {error.strerror or error}")


def _start_worker(name: str, option: str, *, python: str | None = None) -> Worker:
    """Start the worker of an engine that an option names."""
    try:
        return Worker(engines.find_engine(name, python=python).command)
    except (engines.UnknownEngine, WorkerError) as error:
        raise InputError(f"{option} {name}: {error}") from error


def _check(
    worker: Worker, request: CheckRequest, workers: Mapping[str, Worker], say: ProgressCallback
) -> EngineHunt:
    """Hunt in one engine and report progress, then ask the question of each cause again.

    Args:
        workers: All that run: those that can write may write the files.
    """
    areas = None if request.area is None else (request.area,)
    answerable = capabilities(worker, areas=areas, writers=available_writers(workers))
    write = make_write(workers)
    if not answerable.areas:
        offered = ", ".join(sorted(worker.hello.areas))
        raise InputError(f"--class {request.area}: {worker.hello.engine} answers {offered}")

    reported_at = time.monotonic()

    def progress(state: Hunt) -> None:
        nonlocal reported_at
        if time.monotonic() < reported_at + SECONDS_BETWEEN:
            return
        reported_at = time.monotonic()
        total = request.examples or int(request.seconds or 0)
        done = state.examples if request.examples else int(state.seconds)
        findings = f"{len(state.findings)} findings" if state.findings else "nothing found"
        say(f"{worker.hello.engine}: {state.examples} examples, {findings}", done, total)

    # The questions of one engine may be refused by another, so each has its own corpus, whatever its release.
    corpus = None if request.corpus is None else Corpus(request.corpus / worker.hello.engine)
    try:
        result = hunt(
            worker,
            answerable,
            Limits(examples=request.examples, seconds=request.seconds, findings=FINDINGS_MAX),
            hunt_seed=request.seed,
            corpus=corpus,
            write=write,
            progress=progress,
        )
    except UnreadableCorpus as error:
        raise InputError(f"--corpus: {error}") from error
    if result.interrupted:
        # A worker may still send the reply to the interrupted request: later requests need new processes.
        for running_worker in workers.values():
            running_worker.close()
    confirmed = confirm_all(worker, result, write=write)
    return EngineHunt(
        hello=worker.hello, request=request, areas=answerable.areas, hunt=result, confirmed=confirmed
    )


def _finding_dict(hello: Hello, name: str, confirmed: ConfirmedFinding) -> dict[str, Any]:
    """Return a finding in JSON, with its rows and program."""
    return {
        "name": name,
        **finding_summary(hello, confirmed),
        **question_dict(confirmed.finding.world),
        "source": confirmed.source,
        "found": confirmed.actual,
        "expected": confirmed.expected,
    }


def write_page(checked: Sequence[EngineHunt], path: Path) -> None:
    """Write the HTML report of hunts."""
    write_report([engine_hunt.to_dict() for engine_hunt in checked], path)


def show_hunt(out: Console, checked: EngineHunt) -> None:
    """Print a hunt for people."""
    state, hello = checked.hunt, checked.hello
    per_second = state.examples / max(state.seconds, 1e-9)
    out.print(
        f"{hello.engine} {hello.version}: {state.examples:,} examples of {', '.join(checked.areas)} in "
        f"{state.seconds:.0f} s ({per_second:.0f} a second), seed {checked.request.seed}"
        + (", interrupted" if state.interrupted else "")
    )
    if state.refused:
        out.print(f"{sum(state.refused.values()):,} more could not be compared: a form of them was refused")
    if state.no_opinion:
        unjudged = sum(state.no_opinion.values())
        out.print(f"{unjudged:,} of them were not compared with the reference: the engine may mean otherwise")
    _show_tightness(out, state)
    if not checked.confirmed:
        out.print("nothing found")
        return
    counts = (
        pages.counted_noun(len(state.findings), "finding"),
        pages.counted_noun(len(checked.confirmed), "cause"),
    )
    out.print(f"{' of '.join(counts)}, as far as what makes them right tells")
    _show_fences(out, state)
    table = Table("cause", "what", "where it goes away", "right with", "traits", "examples", "seen", "others")
    for name, confirmed in zip(folder_names(checked.confirmed), checked.confirmed, strict=True):
        finding = confirmed.finding
        assert finding.outcome.contradiction is not None
        table.add_row(
            name,
            escape(finding.outcome.contradiction.difference),
            blame_text(confirmed),
            escape(", ".join(confirmed.cures)),
            escape(", ".join(sorted(finding.traits))),
            f"{finding.examples:,}",
            f"{confirmed.count:,}",
            _others_text(confirmed),
        )
    out.print(table)


def _others_text(confirmed: ConfirmedFinding) -> str:
    """Return how many other findings a cause has, and after how many examples the first ones came."""
    places = [f"{other.examples:,}" for other in confirmed.others]
    text = ", ".join(places[:_PLACES_SHOWN]) + (" ..." if len(places) > _PLACES_SHOWN else "")
    return f"{len(places)}: at {text}" if places else ""


def _show_fences(out: Console, state: Hunt) -> None:
    """Print the loud causes that were fenced off."""
    for fence in state.fences:
        held = escape(", ".join(sorted(fence.traits)))
        out.print(f"fenced off, and {state.fenced[fence.ordinal]:,} more failures counted: {held}")
    if state.unasked:
        out.print(f"{state.unasked:,} questions were not asked, because most like them failed behind a fence")


def _show_tightness(out: Console, state: Hunt) -> None:
    """Print the number of row groups skipped, by family."""
    if not state.skippable:
        return
    parts = [f"{name} {state.skipped[name]} of {count}" for name, count in sorted(state.skippable.items())]
    out.print(f"row groups skipped, of those without a match: {', '.join(parts)}")
