"""Trials of the museum: the hunt of one release, and the judgement of each of its findings."""

import contextlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from museums.releases import BY_ITSELF, Release, environment_name, pinned_package
from museums.rooms import CURRENT

from oracles.answers.contradictions import Discrepancy, Oracle
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, traits
from skipproof.stand.hunt.examining import QuestionResult, Write, examine
from skipproof.stand.hunt.findings import question_dict
from skipproof.stand.hunt.hunting import Finding, Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.races import REPEATS
from skipproof.stand.hunt.writing import available_writers, make_write, writer_name
from skipproof.stand.reference.opinions import Reference
from skipproof.stand.workers import engines
from skipproof.stand.workers.environments import environment
from skipproof.stand.workers.workers import Worker, WorkerError
from strategies.engines.questions import Call, Question, subterms
from strategies.engines.worlds import World

SECONDS_TO_SHRINK = 10.0
SECONDS_TO_ANSWER = 5.0
# The hunt goes on however many others it finds.
FINDINGS_MAX = 10_000
# Results have the rows of smaller tables alone.
_ROWS_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The trial of one release; `finding` is None if it was not convicted.

    Attributes:
        elsewhere: Findings before it that have not the area's traits, or are of another release's making.
        because: The reason why it could not be asked at all.
    """

    release: Release
    finding: Finding | None
    elsewhere: tuple[Finding, ...]
    examples: int
    seconds: float
    because: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the trial in JSON."""
        convicting = {} if self.finding is None else _brief(self.finding) | _world(self.finding)
        return {
            "release": self.release.name,
            "area": self.release.area,
            "convicted": self.finding is not None,
            "because": self.because,
            "examples": self.examples,
            "seconds": round(self.seconds, 1),
            "examples_per_second": round(self.examples / max(self.seconds, 1e-9), 1),
            "elsewhere": [_brief(finding) for finding in self.elsewhere],
            **convicting,
        }


def _brief(finding: Finding) -> dict[str, Any]:
    assert finding.outcome.contradiction is not None
    return {"difference": finding.outcome.contradiction.difference, "traits": sorted(finding.traits)}


def _world(finding: Finding) -> dict[str, Any]:
    """Return the question, settings and layouts of a finding, and its rows if they are few."""
    content = question_dict(finding.world)
    if sum(len(block) for table in finding.world.tables.values() for block in table.blocks) > _ROWS_MAX:
        del content["tables"]
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A reader, and the engines that write its files, by their names in layouts."""

    reader: Worker
    workers: dict[str, Worker]

    @property
    def write(self) -> Write:
        """Write the files of a table by these engines."""
        return make_write(self.workers)


class _Convicted(BaseException):
    """Ends a hunt; Hypothesis would run the example of an `Exception` again."""


class _Judge:
    """Looks at each new finding of a hunt, and ends it at the first that convicts.

    Args:
        old: The release on trial.
        current: The newest releases of the same engines, or None if the newest is on trial itself. Then what
            convicts is an answer that contradicts both the engine without anything to prune by and the
            reference.
        mended: The first releases without the fault, which answer what convicts rightly.
    """

    def __init__(self, release: Release, old: Side, current: Side | None, mended: Side | None) -> None:
        self._release, self._old, self._current, self._mended = release, old, current, mended
        self._is_sought = self._is_against_both if current is None else self._is_right_now
        self.state = Hunt()
        self.elsewhere: list[Finding] = []
        self.finding: Finding | None = None

    def run(self, limits: Limits, *, seed: int) -> Trial:
        """Hunt until it is convicted or the limits are reached."""
        able = capabilities(self._old.reader, writers=available_writers(self._old.workers))
        with contextlib.suppress(_Convicted):
            state = hunt(
                self._old.reader,
                able,
                limits,
                hunt_seed=seed,
                write=self._old.write,
                progress=self._look,
                sought=self._is_sought,
            )
            # The hunt keeps what still waits to be shrunk as it ends.
            self._look(state)
        return Trial(
            release=self._release,
            finding=self.finding,
            elsewhere=tuple(self.elsewhere),
            examples=self.finding.examples if self.finding else self.state.examples,
            seconds=self.finding.seconds if self.finding else self.state.seconds,
        )

    def _is_right_now(self, world: World, _: QuestionResult) -> bool:
        """Tell whether the current release answers a question correctly."""
        assert self._current is not None
        (outcome,) = examine(
            self._current.reader,
            supported_world(world, self._current),
            write=self._current.write,
        )
        return not outcome.refused and outcome.contradiction is None

    def _is_against_both(self, world: World, outcome: QuestionResult) -> bool:
        """Tell whether the plain form and the reference agree, and an answer in the area contradicts them."""
        wrong = outcome.contradiction
        assert wrong is not None
        finding_traits = traits(world, outcome.question, wrong) | functions(outcome.question)
        if not in_area(finding_traits, self._release.traits):
            return False
        return wrong.oracle is Oracle.ITSELF and _agrees(self._old.reader, world, outcome)

    def _look(self, state: Hunt) -> None:
        self.state = state
        for finding in state.findings[len(self.elsewhere) :]:
            if self._convicts(finding):
                self.finding = finding
                raise _Convicted
            self.elsewhere.append(finding)

    def _convicts(self, finding: Finding) -> bool:
        """Tell whether a finding is in the area, wrong again on the release, and always right once mended."""
        if not in_area(finding.traits | functions(finding.outcome.question), self._release.traits):
            return False
        # The first time that it is wrong again ends the questions.
        if "wrong" not in verdicts(self._old.reader, finding.world, self._old.write):
            return False
        if self._release.without and not self._is_right_without(finding.world):
            return False
        if self._mended is None:
            return _agrees(self._old.reader, finding.world, finding.outcome)
        world = supported_world(finding.world, self._mended)
        return is_always_right(self._mended.reader, world, self._mended.write)

    def _is_right_without(self, world: World) -> bool:
        """Tell whether the release answers a question rightly without what is wrong in the area."""
        spared = replace(world, settings=dict(world.settings) | dict(self._release.without))
        return is_always_right(self._old.reader, spared, self._old.write)


def _agrees(worker: Worker, world: World, outcome: QuestionResult) -> bool:
    """Tell whether the reference has an opinion of the answer with nothing to prune by, and agrees."""
    opinion = Reference(world).opinion(worker.hello, outcome.question, outcome.without["rows"])
    return not opinion.none and opinion.contradiction is None


def functions(question: Question) -> frozenset[str]:
    """Return a trait for each function of a question, where its family is too wide for an area."""
    parts = (part for term in question.terms for part in subterms(term))
    return frozenset(f"function {part.function}" for part in parts if isinstance(part, Call))


def in_area(finding_traits: frozenset[str], groups: Sequence[Sequence[str]]) -> bool:
    """Tell whether a finding has one of each group of traits, its area included, and is no error.

    Early ones raise wherever they were not finished.
    """
    if any(trait.endswith(f": {Discrepancy.RAISED.value}") for trait in finding_traits):
        return False
    others = {trait.partition(":")[0] for trait in finding_traits if ": " in trait}
    others |= set() if AGAINST_THE_REFERENCE in finding_traits else {BY_ITSELF}
    return all((finding_traits | others).intersection(either) for either in groups)


def verdicts(worker: Worker, world: World, write: Write) -> Iterator[str]:
    """Ask a world's question as often as a race, as threads vary; yield right, wrong or refused each time."""
    for _ in range(REPEATS):
        (result,) = examine(worker, world, write=write)
        yield "refused" if result.refused else "wrong" if result.contradiction else "right"


def is_always_right(worker: Worker, world: World, write: Write) -> bool:
    """Tell whether a world's question is answered rightly each time."""
    return all(verdict == "right" for verdict in verdicts(worker, world, write))


def supported_world(world: World, side: Side) -> World:
    """Return the world without the settings and options of layouts that the releases of a side lack."""
    reader = side.reader.hello
    settings = {name: value for name, value in world.settings.items() if name in reader.settings}
    tables = {}
    for name, table in world.tables.items():
        writer = side.workers.get(table.layout.writer)
        offered = reader.layouts if reader.tables == "own" else writer.hello.layouts if writer else {}
        options = {
            option: value for option, value in table.layout.format_options.items() if option in offered
        }
        tables[name] = replace(table, layout=replace(table.layout, format_options=options))
    return replace(world, settings=settings, tables=tables)


def try_release(release: Release, environments: Path, *, seed: int, seconds_max: float) -> Trial:
    """Put one release beside the current one."""
    with contextlib.ExitStack() as stack:
        try:
            old, current, mended = _sides(stack, release, environments)
            limits = Limits(seconds=seconds_max, findings=FINDINGS_MAX, seconds_to_shrink=SECONDS_TO_SHRINK)
            return _Judge(release, old, current, mended).run(limits, seed=seed)
        except WorkerError as error:
            return Trial(
                release=release, finding=None, elsewhere=(), examples=0, seconds=0.0, because=str(error)
            )


def _sides(
    stack: contextlib.ExitStack, release: Release, environments: Path
) -> tuple[Side, Side | None, Side | None]:
    """Start the workers of a trial: those of the release, of the current ones, and of the mended ones."""

    def start(engine: str, python: str | None) -> Worker:
        # Some old releases hang; none of those tried takes this long for such small tables.
        command = engines.find_engine(engine, python=python).command
        return stack.enter_context(Worker(command, seconds_max=SECONDS_TO_ANSWER))

    writer = release.writer
    old = start(release.engine, pinned_interpreter(release.pins, environments))
    workers = {release.engine: old}
    name = ""
    if writer is not None:
        foreign = start(writer.engine, pinned_interpreter(writer.pins, environments))
        name = writer_name(foreign.hello)
        workers[name] = foreign
    if release.is_current:
        return Side(reader=old, workers=workers), None, None
    newest = start(release.engine, current_interpreter(release.pins, environments))
    new_workers = {release.engine: newest}
    if writer is not None:
        new_workers[name] = start(writer.engine, current_interpreter(writer.pins, environments))
    current = Side(reader=newest, workers=new_workers)
    if not release.mended:
        return Side(reader=old, workers=workers), current, current
    first = start(release.engine, pinned_interpreter(release.mended, environments))
    mended = Side(reader=first, workers={**new_workers, release.engine: first})
    return Side(reader=old, workers=workers), current, mended


def pinned_interpreter(pins: tuple[str, ...], environments: Path) -> str | None:
    """Return the interpreter that has a pinned release; None is this one, if it has just that release."""
    package = pinned_package(pins)
    with contextlib.suppress(metadata.PackageNotFoundError):
        if metadata.version(package) == pins[0].partition("==")[2]:
            return None
    return str(environment(environment_name(pins), pins, environments))


def current_interpreter(pins: tuple[str, ...], environments: Path) -> str | None:
    """Return the interpreter of the newest release of pinned packages; None is this one."""
    package = pinned_package(pins)
    if importlib.util.find_spec(package) is not None:
        return None
    return str(environment(f"{package}-current", CURRENT[package], environments))


def make_environments(release: Release, directory: Path) -> None:
    """Make the environments of a trial that the directory lacks."""
    directory.mkdir(parents=True, exist_ok=True)
    for pins in (release.pins, *((release.writer.pins,) if release.writer else ())):
        pinned_interpreter(pins, directory)
        current_interpreter(pins, directory)
    if release.mended:
        pinned_interpreter(release.mended, directory)
