"""`skipproof simulate`: runs of a scenario, over processes, what they print, and whether all held."""

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
from sim.kernel.expecting import Measured, Missed, missed
from sim.kernel.scenario_schema import Claimed, Violation
from sim.kernel.trace import lines
from sim.kernel.varying import Case, cases_with, spelled
from skipproof import pages
from skipproof.simulations.judging import judged
from skipproof.simulations.summaries import Summary, summaries

Say: TypeAlias = Callable[[str, int, int], None]
_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran(Measured):
    """One run, of a case and a seed.

    Attributes:
        latencies_us: Of each query that was answered.
    """

    latencies_us: Mapping[str, int]
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The runs of a scenario, by case and seed, and what they were expected to show.

    Attributes:
        only: KEY=VALUE each, where not all cases were run; nothing is expected then.
    """

    path: Path
    scenario: Claimed
    only: tuple[str, ...]
    runs: tuple[Ran, ...]
    missed: tuple[Missed, ...]

    @property
    def held(self) -> bool:
        """Whether no invariant was violated and no expectation missed."""
        return not self.missed and not any(run.violations for run in self.runs)

    @property
    def summaries(self) -> list[Summary]:
        """What was measured, case by case."""
        return summaries(self.scenario, self.runs, judged=not self.only)

    @property
    def command(self) -> str:
        """The command that makes all runs again."""
        only = [f"--only {shlex.quote(text)}" for text in self.only]
        seeds = sorted({run.seed for run in self.runs})
        return " ".join([self._begun, *only, f"--seeds {seeds[0]}:{len(seeds)}"])

    @property
    def _begun(self) -> str:
        return f"skipproof simulate {shlex.quote(str(self.path))}"

    def replay(self, run: Ran) -> str:
        """The command that makes a run again."""
        settings = [f"{path}={spelled(value)}" for path, value in run.case.settings.items()]
        only = [f"--only {shlex.quote(text)}" for text in settings]
        return " ".join([self._begun, *only, f"--seed {run.seed} --trace FILE"])

    def to_dict(self) -> dict[str, Any]:
        """The runs in JSON."""
        return {
            "scenario": self.path.name,
            "title": self.scenario.title,
            "claim": self.scenario.claim,
            "held": self.held,
            "runs": [
                {
                    "settings": dict(run.case.settings),
                    "seed": run.seed,
                    "measures": dict(run.measures),
                    "violations": [
                        {"invariant": one.invariant, "at_us": one.at_us, "what": one.what}
                        for one in run.violations
                    ],
                }
                for run in self.runs
            ],
            "missed": [
                {"measure": one.measure, "case": one.case, "seed": one.seed, "what": one.what}
                for one in self.missed
            ],
        }


def seeds_of(text: str) -> range:
    """The seeds that FIRST:COUNT names.

    Raises:
        InputError: it names none.
    """
    first, _, count = text.partition(":")
    if not first.isdigit() or not count.isdigit() or not int(count):
        raise InputError(f"--seeds {text}: give the first seed and how many there are, as 0:100.")
    return range(int(first), int(first) + int(count))


def simulate(path: Path, seeds: range | None, only: Sequence[str], say: Say) -> Simulated:
    """Run a scenario once for each case and seed.

    Args:
        seeds: None for the scenario's own.
        only: KEY=VALUE each; cases of other settings are left out.
    Raises:
        InputError: the file is no scenario, or has no such case.
    """
    given = read(path)
    chosen = seeds or range(given.seeds.first, given.seeds.first + given.seeds.count)
    kept = _chosen(given, only)
    todo = [(at, case, seed) for at, case in enumerate(kept) for seed in chosen]
    runs: list[tuple[int, Ran]] = []
    for at, run in _runs(todo):
        runs.append((at, run))
        say(f"seed {run.seed} {run.case.name}", len(runs), len(todo))
    ordered = [run for _, run in sorted(runs, key=lambda one: (one[0], one[1].seed))]
    # What is expected of all cases cannot be asked of some.
    due = [] if only else missed(given, ordered)
    return Simulated(path=path, scenario=given, only=tuple(only), runs=tuple(ordered), missed=tuple(due))


def _chosen(given: Claimed, only: Sequence[str]) -> list[Case]:
    """The cases that `--only` leaves."""
    try:
        return cases_with(given, only)
    except InputError as error:
        raise InputError(f"--only {error}") from error


def _runs(todo: Sequence[tuple[int, Case, int]]) -> Iterator[tuple[int, Ran]]:
    if len(todo) == 1:
        yield _run(*todo[0])
        return
    with ProcessPoolExecutor(max_workers=min(len(todo), os.cpu_count() or 1)) as pool:
        try:
            for done in as_completed([pool.submit(_run, *one) for one in todo]):
                yield done.result()
        except BaseException:
            # Leaving the pool waits for the runs that have begun; the others are not begun any more.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(at: int, case: Case, seed: int) -> tuple[int, Ran]:
    return at, ran(case, seed)


def ran(case: Case, seed: int) -> Ran:
    """One run, measured and judged."""
    played = case.scenario.play(seed)
    lost, wrong = judged(played.histories())
    return Ran(
        case=case,
        seed=seed,
        measures={**played.measures(), **lost},
        results=played.results() if case.scenario.agree else {},
        latencies_us=played.latencies_us(),
        violations=(*played.violations(), *wrong),
    )


def trace(path: Path, seed: int, only: Sequence[str], to: Path) -> None:
    """Write the events of one seed's run as JSON lines, beside their place and then renamed.

    Raises:
        InputError: the file is no scenario, several of its cases have these settings, or the events
            cannot be written there.
    """
    kept = _chosen(read(path), only)
    if len(kept) > 1:
        raise InputError(f"--trace: it is of one case, and there are {len(kept)}: choose with --only")
    pages.write_lines(lines(kept[0].scenario.play(seed).trace), to)


def show(out: Console, simulated: Simulated) -> None:
    """Print the runs for people."""
    runs, given = simulated.runs, simulated.scenario
    wrong = [run for run in runs if run.violations]
    out.print(f"[bold]{escape(given.title)}[/]")
    out.print(escape(given.claim))
    out.print(f"{len(runs):,} runs: {len(wrong)} violate an invariant")
    for summary in simulated.summaries:
        table = Table("measure", "least", "median", "most", "expected", title=escape(summary.case) or None)
        for row in summary.rows:
            table.add_row(row.measure, row.least, row.median, row.most, row.expected)
        out.print(table)
    for one in simulated.missed[:_SHOWN]:
        place = f", {one.case}" if one.case else ""
        place += "" if one.seed is None else f", seed {one.seed}"
        out.print(f"not as expected: {escape(one.measure)}{place}: {escape(one.what)}")
    for run in wrong[:_SHOWN]:
        out.print(f"seed {run.seed}: {escape(str(run.violations[0]))}")
        out.print(f"  replay  {escape(simulated.replay(run))}", soft_wrap=True)
