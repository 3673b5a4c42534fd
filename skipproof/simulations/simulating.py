"""`skipproof simulate`: the runs of a scenario, over several processes, and their printed results."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.errors import InputError
from sim.files import read
from sim.kernel.expecting import MissedExpectation, RunMeasures, missed_expectations
from sim.kernel.scenario_schema import ScenarioSchema, Violation
from sim.kernel.trace import lines
from sim.kernel.varying import Case, cases_with, setting_text
from skipproof import pages
from skipproof.simulations.judging import judge_histories
from skipproof.simulations.summaries import Summary, case_summaries

ProgressCallback: TypeAlias = Callable[[str, int, int], None]
_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun(RunMeasures):
    """One run, of a case and a seed.

    Attributes:
        latencies_us: The latency of each query that was answered.
    """

    latencies_us: Mapping[str, int]
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """The runs of a scenario, by case and seed, and the expectations that they missed.

    Attributes:
        only: The settings KEY=VALUE that choose the cases; if there are any, nothing is expected.
    """

    path: Path
    scenario: ScenarioSchema
    only: tuple[str, ...]
    runs: tuple[MeasuredRun, ...]
    missed: tuple[MissedExpectation, ...]

    @property
    def all_held(self) -> bool:
        """True if no invariant was violated and no expectation missed."""
        return not self.missed and not any(run.violations for run in self.runs)

    @property
    def summaries(self) -> list[Summary]:
        """The measures of each case."""
        return case_summaries(self.scenario, self.runs, with_expectations=not self.only)

    @property
    def command(self) -> str:
        """The command that repeats all runs."""
        only = [f"--only {shlex.quote(text)}" for text in self.only]
        seeds = sorted({run.seed for run in self.runs})
        return " ".join([self._command_start, *only, f"--seeds {seeds[0]}:{len(seeds)}"])

    @property
    def _command_start(self) -> str:
        """The start of the commands that repeat runs."""
        return f"skipproof simulate {shlex.quote(str(self.path))}"

    def replay(self, run: MeasuredRun) -> str:
        """Return the command that repeats a run."""
        settings = [f"{path}={setting_text(value)}" for path, value in run.case.settings.items()]
        only = [f"--only {shlex.quote(text)}" for text in settings]
        return " ".join([self._command_start, *only, f"--seed {run.seed} --trace FILE"])

    def to_dict(self) -> dict[str, Any]:
        """Return the runs in JSON."""
        return {
            "scenario": self.path.name,
            "title": self.scenario.title,
            "claim": self.scenario.claim,
            "held": self.all_held,
            "runs": [
                {
                    "settings": dict(run.case.settings),
                    "seed": run.seed,
                    "measures": dict(run.measures),
                    "violations": [
                        {"invariant": violation.invariant, "at_us": violation.at_us, "what": violation.what}
                        for violation in run.violations
                    ],
                }
                for run in self.runs
            ],
            "missed": [
                {
                    "measure": expectation.measure,
                    "case": expectation.case,
                    "seed": expectation.seed,
                    "what": expectation.what,
                }
                for expectation in self.missed
            ],
        }


def parse_seeds(text: str) -> range:
    """Return the seeds that FIRST:COUNT names.

    Raises:
        InputError: the text names no seeds.
    """
    first, _, count = text.partition(":")
    if not first.isdigit() or not count.isdigit() or not int(count):
        raise InputError(f"--seeds {text}: give the first seed and how many there are, as 0:100.")
    return range(int(first), int(first) + int(count))


def simulate(path: Path, seeds: range | None, only: Sequence[str], say: ProgressCallback) -> SimulationResult:
    """Run a scenario once for each case and seed.

    Args:
        seeds: None for the scenario's own.
        only: Settings KEY=VALUE; cases with other settings are left out.
    Raises:
        InputError: the file is no scenario, or has no such case.
    """
    scenario = read(path)
    chosen = seeds or range(scenario.seeds.first, scenario.seeds.first + scenario.seeds.count)
    cases = _chosen_cases(scenario, only)
    todo = [(at, case, seed) for at, case in enumerate(cases) for seed in chosen]
    runs: list[tuple[int, MeasuredRun]] = []
    for at, run in _run_all(todo):
        runs.append((at, run))
        say(f"seed {run.seed} {run.case.name}", len(runs), len(todo))
    ordered = [run for _, run in sorted(runs, key=lambda placed_run: (placed_run[0], placed_run[1].seed))]
    # The expectations are about all cases, so they are not checked for some of them.
    missed = [] if only else missed_expectations(scenario, ordered)
    return SimulationResult(
        path=path, scenario=scenario, only=tuple(only), runs=tuple(ordered), missed=tuple(missed)
    )


def _chosen_cases(scenario: ScenarioSchema, only: Sequence[str]) -> list[Case]:
    """Return the cases that `--only` selects."""
    try:
        return cases_with(scenario, only)
    except InputError as error:
        raise InputError(f"--only {error}") from error


def _run_all(todo: Sequence[tuple[int, Case, int]]) -> Iterator[tuple[int, MeasuredRun]]:
    """Run cases with their seeds in several processes, and yield each run with its ordinal."""
    if len(todo) == 1:
        yield _run_at(*todo[0])
        return
    with ProcessPoolExecutor(max_workers=min(len(todo), os.cpu_count() or 1)) as pool:
        try:
            for done in as_completed([pool.submit(_run_at, *item) for item in todo]):
                yield done.result()
        except BaseException:
            # Closing the pool waits for runs that have begun; do not begin the others.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_at(at: int, case: Case, seed: int) -> tuple[int, MeasuredRun]:
    """Run one case, and return the run with its ordinal."""
    return at, run_case(case, seed)


def run_case(case: Case, seed: int) -> MeasuredRun:
    """Run one case with one seed; measure the run and check its histories."""
    played = case.scenario.play(seed)
    lost, wrong = judge_histories(played.histories())
    return MeasuredRun(
        case=case,
        seed=seed,
        measures={**played.measures(), **lost},
        results=played.results() if case.scenario.agree else {},
        latencies_us=played.latencies_us(),
        violations=(*played.violations(), *wrong),
    )


def write_trace(path: Path, seed: int, only: Sequence[str], to: Path) -> None:
    """Write the events of one seed's run as JSON lines, atomically.

    Raises:
        InputError: the file is no scenario, several of its cases have these settings, or the events
            cannot be written there.
    """
    cases = _chosen_cases(read(path), only)
    if len(cases) > 1:
        raise InputError(f"--trace: it is of one case, and there are {len(cases)}: choose with --only")
    pages.write_lines(lines(cases[0].scenario.play(seed).trace), to)


def show_result(out: Console, simulated: SimulationResult) -> None:
    """Print the runs for people."""
    runs, scenario = simulated.runs, simulated.scenario
    wrong = [run for run in runs if run.violations]
    out.print(f"[bold]{escape(scenario.title)}[/]")
    out.print(escape(scenario.claim))
    out.print(f"{len(runs):,} runs: {len(wrong)} violate an invariant")
    for summary in simulated.summaries:
        table = Table("measure", "least", "median", "most", "expected", title=escape(summary.case) or None)
        for row in summary.rows:
            table.add_row(row.measure, row.least, row.median, row.most, row.expected)
        out.print(table)
    for expectation in simulated.missed[:_SHOWN_MAX]:
        place = f", {expectation.case}" if expectation.case else ""
        place += "" if expectation.seed is None else f", seed {expectation.seed}"
        out.print(f"not as expected: {escape(expectation.measure)}{place}: {escape(expectation.what)}")
    for run in wrong[:_SHOWN_MAX]:
        out.print(f"seed {run.seed}: {escape(str(run.violations[0]))}")
        out.print(f"  replay  {escape(simulated.replay(run))}", soft_wrap=True)
