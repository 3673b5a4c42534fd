"""`skipproof check`: hunts of several engines, what they print, and what they leave behind."""

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
from skipproof.commands.showing import console, print_json
from skipproof.stand.hunt.causes import cause
from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.findings import Confirmed, asked, confirm_each, folder_names, place, save, summary
from skipproof.stand.hunt.hunting import Hunt, Limits, able, hunt
from skipproof.stand.hunt.writing import writers, writing
from skipproof.stand.report.report import write_report
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Hello, Worker, WorkerError

SECONDS_BETWEEN = 2.0
# An hour finds more than a minute does; three of each cause are kept at most.
FINDINGS_MAX = 300

Say: TypeAlias = Callable[[str, int, int], None]
Progress: TypeAlias = Callable[[], contextlib.AbstractContextManager[Say]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `skipproof check` was told.

    Attributes:
        examples: Questions for each engine at most; None is no limit.
        seconds: Time for each engine at most, shrinking not counted; None is no limit.
        area: The one class of questions, or None for all that the engine answers.
        python: The interpreter of the workers.
        findings: Where a folder is made for each finding; None makes none.
        writers: Engines that write files too, beside pyarrow and the engine itself.
    """

    examples: int | None
    seconds: float | None
    seed: int = 0
    area: str | None = None
    python: str | None = None
    findings: Path | None = None
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The hunt of one engine."""

    hello: Hello
    request: Request
    areas: tuple[str, ...]
    hunt: Hunt
    confirmed: tuple[Confirmed, ...]

    def to_dict(self) -> dict[str, Any]:
        """The hunt in JSON, with all that a report shows of its findings."""
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
            "findings": [
                _finding(self.hello, name, one) for name, one in zip(names, self.confirmed, strict=True)
            ],
        }


def check_each(names: Sequence[str], request: Request, progress: Progress) -> Generator[Checked, None, None]:
    """Put engines on the stand, one after the other; none after the one that is interrupted.

    The folders of an engine's findings are written after its hunt was yielded, so that what cannot be
    written does not cost the hunt.

    Args:
        progress: Opened for each hunt, and closed before the hunt is yielded.
    Raises:
        InputError: there is no such engine, it does not start, it has no such class of questions, or
            the findings cannot be written.
    """
    for name in names:
        with contextlib.ExitStack() as stack:
            worker = stack.enter_context(_started(name, "--engine", python=request.python))
            workers = {name: worker}
            for writer in request.writers:
                if writer not in workers:
                    workers[writer] = stack.enter_context(_started(writer, "--writer"))
                if not workers[writer].hello.writes:
                    raise InputError(f"--writer {writer}: it does not write files")
            try:
                with progress() as say:
                    checked = _check(worker, request, workers, say)
                yield checked
                _save_findings(worker, checked, write=writing(workers))
            except WorkerError as error:
                raise InputError(f"--engine {name}: {error}") from error
        if checked.hunt.interrupted:
            break


def print_each(names: Sequence[str], request: Request, progress: Progress, *, as_json: bool) -> list[Checked]:
    """Put engines on the stand as `check_each` does, and print each hunt as soon as it ends.

    Args:
        as_json: Print all hunts together as JSON, also where a later one raises.
    Returns:
        The hunts in the order of the engines.
    Raises:
        InputError: as `check_each`.
    """
    hunts: list[Checked] = []
    try:
        with contextlib.closing(check_each(names, request, progress)) as ended:
            for checked in ended:
                hunts.append(checked)
                if not as_json:
                    show(console(), checked)
    finally:
        if as_json and hunts:
            print_json([checked.to_dict() for checked in hunts])
    return hunts


def _save_findings(worker: Worker, checked: Checked, *, write: Write) -> None:
    if checked.request.findings is None:
        return
    directory = place(checked.request.findings, checked.hello)
    try:
        for name, one in zip(folder_names(checked.confirmed), checked.confirmed, strict=True):
            save(worker, one, directory / name, write=write)
    except OSError as error:
        raise _unwritable(directory, error) from error


def prepare_findings(directory: Path) -> None:
    """Make the directory of findings, and a folder in it that is removed again.

    Raises:
        InputError: no folder can be made there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory):
            pass
    except OSError as error:
        raise _unwritable(directory, error) from error


def _unwritable(directory: Path, error: OSError) -> InputError:
    return InputError(f"--findings {directory}: it cannot be written: {error.strerror or error}")


def _started(name: str, option: str, *, python: str | None = None) -> Worker:
    try:
        return Worker(engines.engine(name, python=python).command)
    except (engines.UnknownEngine, WorkerError) as error:
        raise InputError(f"{option} {name}: {error}") from error


def _check(worker: Worker, request: Request, workers: Mapping[str, Worker], say: Say) -> Checked:
    areas = None if request.area is None else (request.area,)
    what = able(worker, areas=areas, writers=writers(workers))
    write = writing(workers)
    if not what.areas:
        offered = ", ".join(sorted(worker.hello.areas))
        raise InputError(f"--class {request.area}: {worker.hello.engine} answers {offered}")

    said = time.monotonic()

    def progress(state: Hunt) -> None:
        nonlocal said
        if time.monotonic() < said + SECONDS_BETWEEN:
            return
        said = time.monotonic()
        total = request.examples or int(request.seconds or 0)
        done = state.examples if request.examples else int(state.seconds)
        found = f"{len(state.findings)} findings" if state.findings else "nothing found"
        say(f"{worker.hello.engine}: {state.examples} examples, {found}", done, total)

    result = hunt(
        worker,
        what,
        Limits(examples=request.examples, seconds=request.seconds, findings=FINDINGS_MAX),
        seed_first=request.seed,
        write=write,
        progress=progress,
    )
    if result.interrupted:
        # A reply may still be due; what comes next is asked of new processes.
        for asked_before in workers.values():
            asked_before.close()
    confirmed = confirm_each(worker, result, write=write)
    return Checked(hello=worker.hello, request=request, areas=what.areas, hunt=result, confirmed=confirmed)


def _finding(hello: Hello, name: str, one: Confirmed) -> dict[str, Any]:
    return {
        "name": name,
        **summary(hello, one),
        **asked(one.finding.world),
        "source": one.source,
        "found": one.found,
        "expected": one.expected,
    }


def report(checked: Sequence[Checked], path: Path) -> None:
    """Write an HTML page of hunts."""
    write_report([one.to_dict() for one in checked], path)


def show(out: Console, checked: Checked) -> None:
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
    causes = {cause(one.finding.traits) for one in checked.confirmed}
    out.print(f"{len(checked.confirmed)} findings of {len(causes)} causes, as far as their data tell")
    table = Table("finding", "what", "where it goes away", "traits", "examples", "seconds", "seen")
    for name, one in zip(folder_names(checked.confirmed), checked.confirmed, strict=True):
        finding = one.finding
        assert finding.outcome.contradiction is not None
        table.add_row(
            name,
            escape(finding.outcome.contradiction.difference),
            one.blame.value,
            escape(", ".join(sorted(finding.traits))),
            f"{finding.examples:,}",
            f"{finding.seconds:.1f}",
            f"{one.seen:,}",
        )
    out.print(table)


def _show_tightness(out: Console, state: Hunt) -> None:
    if not state.skippable:
        return
    parts = [f"{name} {state.skipped[name]} of {count}" for name, count in sorted(state.skippable.items())]
    out.print(f"row groups skipped, of those without a match: {', '.join(parts)}")
