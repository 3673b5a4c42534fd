"""`skipproof simulate`: runs of a scenario, over processes, what they print, and whether all held."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.errors import InputError
from sim.checks import Violation, violations
from sim.measures import measures
from sim.scenario import Missed, Scenario, missed, number, of_seed, read
from sim.trace import lines

Say: TypeAlias = Callable[[str, int, int], None]
_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One seed's run."""

    seed: int
    measures: dict[str, float]
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The runs of a scenario, in the order of their seeds, and what they were expected to show."""

    path: Path
    scenario: Scenario
    runs: tuple[Ran, ...]
    missed: tuple[Missed, ...]

    @property
    def held(self) -> bool:
        """Whether no invariant was violated and no expectation missed."""
        return not self.missed and not any(run.violations for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """The runs in JSON."""
        return {
            "scenario": self.path.name,
            "title": self.scenario.title,
            "claim": self.scenario.claim,
            "held": self.held,
            "runs": [
                {
                    "seed": run.seed,
                    "measures": run.measures,
                    "violations": [
                        {"invariant": one.invariant, "at_us": one.at_us, "what": one.what}
                        for one in run.violations
                    ],
                }
                for run in self.runs
            ],
            "missed": [{"measure": one.measure, "seed": one.seed, "what": one.what} for one in self.missed],
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


def simulate(path: Path, seeds: range | None, say: Say) -> Simulated:
    """Run a scenario once for each seed.

    Args:
        seeds: None for the scenario's own.
    Raises:
        InputError: the file is no scenario.
    """
    given = read(path)
    chosen = seeds or range(given.seeds.first, given.seeds.first + given.seeds.count)
    runs = []
    for run in _runs(given, chosen):
        runs.append(run)
        say(f"seed {run.seed}", len(runs), len(chosen))
    runs.sort(key=lambda run: run.seed)
    found = {run.seed: run.measures for run in runs}
    return Simulated(path=path, scenario=given, runs=tuple(runs), missed=tuple(missed(given, found)))


def _runs(given: Scenario, seeds: Sequence[int]) -> Iterator[Ran]:
    if len(seeds) == 1:
        yield _run(given, seeds[0])
        return
    with ProcessPoolExecutor(max_workers=min(len(seeds), os.cpu_count() or 1)) as pool:
        for done in as_completed([pool.submit(_run, given, seed) for seed in seeds]):
            yield done.result()


def _run(given: Scenario, seed: int) -> Ran:
    run = of_seed(given, seed).run(seed)
    return Ran(seed=seed, measures=measures(run), violations=tuple(violations(run)))


def trace(path: Path, seed: int, to: Path) -> None:
    """Write the events of one seed's run as JSON lines, beside their place and then renamed.

    Raises:
        InputError: the file is no scenario.
    """
    run = of_seed(read(path), seed).run(seed)
    beside = to.with_name(f".{to.name}.new")
    try:
        with beside.open("wb") as file:
            file.writelines(lines(run.trace))
        os.replace(beside, to)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def show(out: Console, simulated: Simulated) -> None:
    """Print the runs for people."""
    runs, given = simulated.runs, simulated.scenario
    wrong = [run for run in runs if run.violations]
    out.print(f"[bold]{escape(given.title)}[/]")
    out.print(escape(given.claim))
    out.print(f"{len(runs):,} seeds from {runs[0].seed} on: {len(wrong)} violate an invariant")
    table = Table("measure", "least", "median", "most", "expected")
    for name in sorted({name for run in runs for name in run.measures}):
        values = sorted(run.measures.get(name, 0) for run in runs)
        if not values[-1] and name not in given.expect:
            continue
        bounds = given.expect.get(name)
        table.add_row(
            name,
            *map(number, (values[0], values[len(values) // 2], values[-1])),
            "" if bounds is None else _told(bounds.min, bounds.max, bounds.some),
        )
    out.print(table)
    for one in simulated.missed[:_SHOWN]:
        place = "" if one.seed is None else f", seed {one.seed}"
        out.print(f"not as expected: {escape(one.measure)}{place}: {escape(one.what)}")
    for run in wrong[:_SHOWN]:
        out.print(f"seed {run.seed}: {escape(str(run.violations[0]))}")
        out.print(
            f"  replay  skipproof simulate {escape(str(simulated.path))} --seed {run.seed} --trace FILE"
        )


def _told(least: float | None, most: float | None, some: float | None) -> str:
    ends = ((least, "or more"), (most, "or less"), (some, "in some seed"))
    return ", ".join(f"{number(end)} {what}" for end, what in ends if end is not None)
