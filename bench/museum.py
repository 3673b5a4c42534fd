"""Check that the hunt finds known defects of old releases, without being told what they are.

    python bench/museum.py [--only NAME] [--seed N] [--seconds S] [--jobs N] [--environments DIR] [--json]

Each release runs in an environment of its own, made by pip when it is missing. A finding convicts it if the
finding has the traits of its area (`museum_releases.py`) and the current release answers the same question
about the same table rightly. What the current release gets wrong too is passed over. The seconds are those of
the hunt: neither shrinking nor judging is counted. Several jobs share the machine. The command fails if one
release is not convicted, or could not be asked.
"""

import argparse
import contextlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from museum_releases import CURRENT, RELEASES, Release
from rich.console import Console
from rich.table import Table

from oracles.answers.contradictions import Discrepancy
from skipproof.stand.hunt.examining import QuestionResult, Write, examine
from skipproof.stand.hunt.hunting import Finding, Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.writing import available_writers, make_write
from skipproof.stand.workers import engines
from skipproof.stand.workers.environments import environment
from skipproof.stand.workers.workers import Worker, WorkerError
from strategies.engines.engine_questions import World

SECONDS_MAX = 300.0
SECONDS_TO_SHRINK = 10.0
SECONDS_TO_ANSWER = 5.0
# The hunt goes on however many others it finds.
FINDINGS_MAX = 10_000
TRIES = 5
_DIRECTORY = Path(__file__).parent.parent / ".museum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The trial of one release; `finding` is None if it was not convicted.

    Attributes:
        elsewhere: Findings before it that have not the area's traits, or are of another release's making.
        because: Why it could not be asked at all.
    """

    release: Release
    finding: Finding | None
    elsewhere: tuple[Finding, ...]
    examples: int
    seconds: float
    because: str = ""

    @property
    def verdict(self) -> str:
        """The result, in a word or a sentence."""
        return "convicted" if self.finding else f"NOT CONVICTED {self.because}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the trial in JSON."""
        found = {} if self.finding is None else _brief(self.finding)
        return {
            "release": self.release.name,
            "area": self.release.area,
            "convicted": self.finding is not None,
            "because": self.because,
            "examples": self.examples,
            "seconds": round(self.seconds, 1),
            "elsewhere": [_brief(one) for one in self.elsewhere],
            **found,
        }


class _Convicted(Exception):
    """Ends a hunt."""


class _Judge:
    """Looks at each new finding of a hunt, and ends it at the first that convicts."""

    def __init__(self, release: Release, old: Worker, current: Worker) -> None:
        self._release = release
        self._old, self._current = old, current
        self._write_old = make_write({release.engine: old})
        self._write_current = make_write({release.engine: current})
        self.state = Hunt()
        self.elsewhere: list[Finding] = []
        self.finding: Finding | None = None

    def run(self, *, seed: int, seconds_max: float) -> Trial:
        """Hunt until it is convicted or the time is over."""
        workers = {self._release.engine: self._old}
        what = capabilities(self._old, writers=available_writers(workers))
        with contextlib.suppress(_Convicted):
            hunt(
                self._old,
                what,
                Limits(seconds=seconds_max, findings=FINDINGS_MAX, seconds_to_shrink=SECONDS_TO_SHRINK),
                hunt_seed=seed,
                write=self._write_old,
                progress=self._look,
                sought=self._is_right_now,
            )
        return Trial(
            release=self._release,
            finding=self.finding,
            elsewhere=tuple(self.elsewhere),
            examples=self.finding.examples if self.finding else self.state.examples,
            seconds=self.finding.seconds if self.finding else self.state.seconds,
        )

    def _is_right_now(self, world: World, _: QuestionResult) -> bool:
        """Tell whether the current release answers a question correctly."""
        (outcome,) = examine(self._current, _supported_world(world, self._current), write=self._write_current)
        return not outcome.refused and outcome.contradiction is None

    def _look(self, state: Hunt) -> None:
        self.state = state
        for finding in state.findings[len(self.elsewhere) :]:
            self.finding = self._convicting_finding(finding)
            if self.finding is not None:
                raise _Convicted
            self.elsewhere.append(finding)

    def _convicting_finding(self, finding: Finding) -> Finding | None:
        """Return the finding if it is in the area, wrong then and always right now; else None."""
        if not in_area(finding.traits, self._release.traits):
            return None
        then = verdicts(self._old, finding.world, self._write_old)
        now = verdicts(self._current, _supported_world(finding.world, self._current), self._write_current)
        return finding if "wrong" in then and set(now) == {"right"} else None


def in_area(found: frozenset[str], traits: Sequence[Sequence[str]]) -> bool:
    """Tell whether a finding has one of each group of traits, its area included, and is no error.

    Early ones raise wherever they were not finished.
    """
    if any(trait.endswith(f": {Discrepancy.RAISED.value}") for trait in found):
        return False
    areas = {trait.partition(":")[0] for trait in found if ": " in trait}
    return all((found | areas).intersection(either) for either in traits)


def verdicts(worker: Worker, world: World, write: Write) -> list[str]:
    """Ask a world's question several times, as threads vary; return right, wrong or refused for each."""
    outcomes = [examine(worker, world, write=write)[0] for _ in range(TRIES)]
    return ["refused" if one.refused else "wrong" if one.contradiction else "right" for one in outcomes]


def _supported_world(world: World, worker: Worker) -> World:
    """Return the world without the settings that this release lacks."""
    known = {name: value for name, value in world.settings.items() if name in worker.hello.settings}
    return replace(world, settings=known)


def try_release(release: Release, environments: Path, *, seed: int, seconds_max: float) -> Trial:
    """Put one release beside the current one."""
    python = environment(release.name, release.pins, environments)
    try:
        with (
            _start_worker(release.engine, str(python)) as old,
            _start_worker(release.engine, _current(release.package, environments)) as now,
        ):
            return _Judge(release, old, now).run(seed=seed, seconds_max=seconds_max)
    except WorkerError as error:
        return Trial(release=release, finding=None, elsewhere=(), examples=0, seconds=0.0, because=str(error))


def _start_worker(engine: str, python: str | None) -> Worker:
    # Some old releases hang; none of those tried takes this long for such small tables.
    return Worker(engines.find_engine(engine, python=python).command, seconds_max=SECONDS_TO_ANSWER)


def _current(package: str, environments: Path) -> str | None:
    """Return the interpreter of a package's newest release; None is this one."""
    if importlib.util.find_spec(package) is not None:
        return None
    return str(environment(f"{package}-current", CURRENT[package], environments))


def run_trials(
    releases: Sequence[Release], environments: Path, *, jobs: int, seed: int, seconds_max: float
) -> Iterator[Trial]:
    """Run the trials and yield each when it ends, after installing all environments."""
    for release in releases:
        environment(release.name, release.pins, environments)
        _current(release.package, environments)
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        trials = [
            pool.submit(try_release, release, environments, seed=seed, seconds_max=seconds_max)
            for release in releases
        ]
        for trial in as_completed(trials):
            yield trial.result()


def main() -> None:
    """Try the releases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", choices=[one.name for one in RELEASES])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX)
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--environments", type=Path, default=_DIRECTORY, metavar="DIR")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chosen = [one for one in RELEASES if arguments.only is None or one.name in arguments.only]
    trials = {}
    for trial in run_trials(
        chosen,
        arguments.environments,
        jobs=arguments.jobs,
        seed=arguments.seed,
        seconds_max=arguments.seconds,
    ):
        trials[trial.release.name] = trial
        print(trial.release.name, trial.verdict, file=sys.stderr, flush=True)
    ordered = [trials[release.name] for release in chosen]
    if arguments.json:
        print(json.dumps([trial.to_dict() for trial in ordered], indent=1))
    else:
        show(Console(), ordered)
    sys.exit(any(trial.finding is None for trial in ordered))


def show(out: Console, trials: Sequence[Trial]) -> None:
    """Print a table of the trials."""
    table = Table("release", "area", "examples", "seconds", "what", "traits", "found before")
    for trial in trials:
        table.add_row(
            trial.release.name,
            trial.release.area,
            f"{trial.examples:,}",
            f"{trial.seconds:.1f}",
            _difference(trial.finding) if trial.finding else trial.verdict,
            ", ".join(sorted(trial.finding.traits)) if trial.finding else "",
            str(len(trial.elsewhere)),
        )
    out.print(table)


def _brief(finding: Finding) -> dict[str, Any]:
    return {"difference": _difference(finding), "traits": sorted(finding.traits)}


def _difference(finding: Finding) -> str:
    assert finding.outcome.contradiction is not None
    return finding.outcome.contradiction.difference


if __name__ == "__main__":
    main()
