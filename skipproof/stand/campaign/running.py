"""The run of a campaign: slices of the engines in turn, until each has had its time or its examples."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from pruning.errors import InputError
from skipproof.stand.campaign.plan import Plan, PlannedEngine
from skipproof.stand.campaign.slices import (
    CampaignStore,
    Slice,
    SlicedFinding,
    finding_prefix,
    seen_by_finding,
)
from skipproof.stand.hunt.corpus import Corpus, UnreadableCorpus
from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.findings import (
    ConfirmedFinding,
    confirm_all,
    finding_summary,
    folder_names,
    save_finding,
)
from skipproof.stand.hunt.hunting import (
    EarlierFinding,
    Hunt,
    Limits,
    ReportState,
    capabilities,
    hunt,
)
from skipproof.stand.hunt.writing import available_writers, make_write
from skipproof.stand.workers import engines
from skipproof.stand.workers.environments import (
    NotInstalled,
    environment,
    environment_name,
    find_environment,
)
from skipproof.stand.workers.workers import Hello, Worker, WorkerError

# No slice has the seed of another one, also where campaigns have seeds that follow each other.
SLICES_MAX = 10**6
# High enough for a slice of an hour; at most three findings of each cause are kept.
FINDINGS_MAX = 300
SECONDS_BETWEEN = 2.0

# Says what is done, with the parts that are done and all parts.
SayProgress: TypeAlias = Callable[[str, int, int], None]


def remaining_limits(plan: Plan, engine: PlannedEngine, slices: Sequence[Slice]) -> Limits | None:
    """Return the limits of an engine's next slice, or None if it has had its time or its examples.

    An engine that is counted in examples and could compare no question in a whole slice is done too: it might
    never have them.
    """
    seconds, examples = plan.slice_seconds, plan.slice_examples
    length_seconds = plan.lengths_seconds()[engine.own_label]
    if length_seconds is not None:
        seconds = min(seconds, length_seconds - sum(finished.seconds_total for finished in slices))
    if engine.examples is not None:
        left = engine.examples - sum(finished.examples for finished in slices)
        if any(not finished.examples and not finished.interrupted for finished in slices):
            left = 0
        examples = left if examples is None else min(examples, left)
    if seconds <= 0 or (examples is not None and examples <= 0):
        return None
    return Limits(seconds=seconds, examples=examples, findings=FINDINGS_MAX)


def next_turn(waiting: Iterable[str], slices: Mapping[str, Sequence[Slice]]) -> str | None:
    """Return the label of the engine whose turn it is: the one that waits and has the fewest slices."""
    return min(waiting, key=lambda label: len(slices[label]), default=None)


def slice_seed(seeds: Sequence[int], ordinal: int) -> int:
    """Return the seed of a slice: the seeds take turns, and each has `SLICES_MAX` seeds of slices."""
    turn, seed_ordinal = divmod(ordinal, len(seeds))
    assert turn < SLICES_MAX
    return seeds[seed_ordinal] * SLICES_MAX + turn


def earlier_findings(slices: Sequence[Slice]) -> list[EarlierFinding]:
    """Return the findings of an engine's finished slices, in order."""
    findings = [finding for finished in slices for finding in finished.findings]
    return [
        EarlierFinding(traits=frozenset(finding.traits), again=failures - 1)
        for finding, failures in zip(findings, seen_by_finding(slices).values(), strict=True)
    ]


def own_duplicates(
    state: Hunt, earlier: Sequence[EarlierFinding], confirmed: Sequence[ConfirmedFinding]
) -> dict[int, int]:
    """Return the duplicates that a slice has counted itself, by the ordinal of their finding.

    Args:
        confirmed: The finding of each cause of the slice; the other findings of the cause are duplicates.
    """
    counts = {ordinal: state.again[ordinal] - finding.again for ordinal, finding in enumerate(earlier)}
    counts |= {len(earlier) + position: finding.count - 1 for position, finding in enumerate(confirmed)}
    return {ordinal: count for ordinal, count in counts.items() if count}


class UnusableEngine(Exception):
    """An engine of a file cannot be hunted in.

    Args:
        key: The key of the engine that is to blame.
        reason: The sentence.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def find_command(engine: PlannedEngine, environments: Path, say: SayProgress) -> tuple[str, ...]:
    """Return the command of an engine's worker, after installing its pins.

    Raises:
        UnusableEngine: there is no such engine, its pins cannot be installed, or its command is fixed.
    """
    if engine.command is not None:
        return engine.command
    python = engine.python
    try:
        if engine.pins is not None:
            # The engine must exist before anything is installed for it.
            engines.find_engine(engine.name, python="python")
            name = environment_name(engine.pins)
            if find_environment(name, environments) is None:
                say(f"{engine.own_label}: installing {', '.join(engine.pins)}", 0, 0)
            python = str(environment(name, engine.pins, environments))
        command = engines.find_engine(engine.name, python=python).command
    except engines.UnknownEngine as error:
        raise UnusableEngine("name", str(error)) from error
    except NotInstalled as error:
        raise UnusableEngine("pins", str(error)) from error
    if python is not None and command[0] != python:
        reason = f"the package of {engine.name} names its own interpreter: give `command` instead"
        raise UnusableEngine(engine.started_by, reason)
    return command


class Campaign:
    """A campaign over a directory of results.

    Args:
        file: The file of the plan, for sentences.
        environments: The directory of environments for pins.

    Attributes:
        slices: The finished slices by the label of their engine.
    """

    def __init__(self, plan: Plan, store: CampaignStore, *, file: Path, environments: Path) -> None:
        self._plan, self._store = plan, store
        self._file, self._environments = file, environments
        self._engines = {engine.own_label: engine for engine in plan.engine}
        self._commands: dict[str, tuple[str, ...]] = {}
        self.slices = {label: store.read_slices(label) for label in self._engines}

    def run(self, say: SayProgress) -> Iterator[Slice]:
        """Run the slices that are left, and yield each when it is written; stop after an interrupted one.

        Every engine that has a slice left is started once before the first of them, so that an engine that is
        absent is told of before anything has taken time.

        Raises:
            InputError: an engine does not start, is of another version than its earlier slices, or has none
                of its classes of questions; or a result cannot be written.
        """
        for waiting_label in self._waiting():
            with self._blamed_on_file(waiting_label):
                engine = self._engines[waiting_label]
                self._commands[waiting_label] = find_command(engine, self._environments, say)
                self._start_worker(waiting_label).close()
        while (label := next_turn(self._waiting(), self.slices)) is not None:
            with self._blamed_on_file(label):
                finished = self._run_slice(label, self._waiting()[label], say)
            self._store.add(finished)
            self.slices[label].append(finished)
            yield finished
            if finished.interrupted:
                return

    @contextmanager
    def _blamed_on_file(self, label: str) -> Iterator[None]:
        """Turn the error of an engine into a sentence that names the file and the key."""
        try:
            yield
        except UnusableEngine as error:
            ordinal = list(self._engines).index(label)
            raise InputError(f"{self._file}: `engine[{ordinal}].{error.key}`: {error}") from error

    def _waiting(self) -> dict[str, Limits]:
        """Return the limits of the next slice of each engine that is not done."""
        limits = {
            label: remaining_limits(self._plan, engine, self.slices[label])
            for label, engine in self._engines.items()
        }
        return {label: engine_limits for label, engine_limits in limits.items() if engine_limits is not None}

    def _start_worker(self, label: str) -> Worker:
        """Start the worker of an engine, and check that it is the engine of the earlier slices."""
        try:
            worker = Worker(self._commands[label])
        except WorkerError as error:
            raise UnusableEngine(self._engines[label].started_by, str(error)) from error
        mismatch = self._mismatch(label, worker.hello)
        if mismatch is not None:
            worker.close()
            raise mismatch
        return worker

    def _mismatch(self, label: str, hello: Hello) -> UnusableEngine | None:
        """Return why the campaign cannot go on with an engine, or None."""
        versions = {finished.version for finished in self.slices[label]} - {hello.version}
        if versions:
            reason = (
                f"it is {hello.version} now, and its slices in {self._store.directory} are of "
                f"{', '.join(sorted(versions))}: name another directory of results"
            )
            return UnusableEngine(self._engines[label].started_by, reason)
        areas = self._plan.areas_of(self._engines[label])
        if areas is not None and not hello.areas.intersection(areas):
            reason = f"{label} answers {', '.join(sorted(hello.areas))}, and none of {', '.join(areas)}"
            return UnusableEngine("areas", reason)
        return None

    def _run_slice(self, label: str, limits: Limits, say: SayProgress) -> Slice:
        """Run the next slice of an engine, and write the folders of its findings."""
        began, engine, ordinal = time.monotonic(), self._engines[label], len(self.slices[label])
        self._store.remove_unfinished(label, ordinal)
        seed, earlier = slice_seed(self._plan.seeds, ordinal), earlier_findings(self.slices[label])
        with self._start_worker(label) as worker:
            workers = {engine.name: worker}
            write = make_write(workers)
            try:
                # All that a hunt takes from the plan and from earlier slices is passed here.
                state = hunt(
                    worker,
                    capabilities(
                        worker, areas=self._plan.areas_of(engine), writers=available_writers(workers)
                    ),
                    limits,
                    hunt_seed=seed,
                    earlier=earlier,
                    corpus=self._corpus(worker.hello.engine, asked=ordinal > 0),
                    write=write,
                    progress=self._progress(label, say),
                )
                if state.interrupted:
                    # The worker may still send the reply to the interrupted request.
                    worker.close()
                confirmed = confirm_all(worker, state, write=write)
                findings = self._save_findings(worker, label, confirmed, write)
            except WorkerError as error:
                raise UnusableEngine(engine.started_by, str(error)) from error
            except UnreadableCorpus as error:
                raise InputError(f"{self._file}: `corpora`: {error}") from error
            return Slice(
                label=label,
                engine=worker.hello.engine,
                version=worker.hello.version,
                ordinal=ordinal,
                seed=seed,
                examples=state.examples,
                seconds=state.seconds,
                seconds_shrinking=state.seconds_shrinking,
                seconds_total=time.monotonic() - began,
                interrupted=state.interrupted,
                refused=state.refused.total(),
                unjudged=state.no_opinion.total(),
                findings=findings,
                again=own_duplicates(state, earlier, confirmed),
            )

    def _corpus(self, engine: str, *, asked: bool) -> Corpus | None:
        """Return the corpus of an engine in all its releases; the first slice of each asks what is kept."""
        corpora = self._plan.corpora
        return None if corpora is None else Corpus(Path(corpora) / engine, asked=asked)

    def _progress(self, label: str, say: SayProgress) -> ReportState:
        """Return a function that reports the state of an engine's hunt every few seconds."""
        slices, engine = self.slices[label], self._engines[label]
        length_seconds = self._plan.lengths_seconds()[label]
        reported_at = time.monotonic()

        def progress(state: Hunt) -> None:
            nonlocal reported_at
            if time.monotonic() < reported_at + SECONDS_BETWEEN:
                return
            reported_at = time.monotonic()
            if length_seconds is None:
                done, total = state.examples + sum(finished.examples for finished in slices), engine.examples
            else:
                done = int(state.seconds + sum(finished.seconds_total for finished in slices))
                total = int(length_seconds)
            findings = len(state.findings) + sum(len(finished.findings) for finished in slices)
            say(f"{label}: slice {len(slices)}, {findings} findings", done, total or 0)

        return progress

    def _save_findings(
        self, worker: Worker, label: str, confirmed: Sequence[ConfirmedFinding], write: Write
    ) -> tuple[SlicedFinding, ...]:
        """Write the folder of each finding of the next slice, and return what the slice keeps of them."""
        directory, prefix = self._store.findings_of(label), finding_prefix(len(self.slices[label]))
        kept_findings = []
        for name, finding in zip(folder_names(confirmed), confirmed, strict=True):
            folder = f"{prefix}{name}"
            try:
                save_finding(worker, finding, directory / folder, write=write)
            except OSError as error:
                raise InputError(f"{directory} cannot be written: {error.strerror or error}") from error
            summary = {**finding_summary(worker.hello, finding), "folder": folder}
            kept_findings.append(msgspec.convert(summary, SlicedFinding))
        return tuple(kept_findings)
