"""The measured share of mutants that a search finds, of the open half and of the closed half.

Results are lines of JSON in a file, so that a measurement that was interrupted goes on. Lines of another
state of the code that is mutated, drawn from or judged by are ignored.
"""

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import hypot
from pathlib import Path
from typing import Any, TypeAlias

from scipy.stats import binomtest

import oracles.answers
import skipproof.stand.hunt
import skipproof.stand.reference
import strategies.engines
from mutants.source.searching import Search, SearchResult
from mutants.source.source_mutants import SourceMutant
from mutants.source.trivial import trivial_mutants

Line: TypeAlias = dict[str, Any]

# The mutants that one task of a process hunts over the same worlds, which cost as much as 20 mutants.
_MUTANTS_PER_TASK = 700
_NOT_TOLD_APART = Path(__file__).parent / "not_told_apart.txt"


@dataclass(frozen=True, slots=True)
class Share:
    """The share of hunts that found their mutant.

    Attributes:
        found: The number of mutants found, for several seeds its mean.
        mutants: The number of mutants.
        examples: The median of the examples of the hunts that found theirs, or None.
    """

    found: float
    mutants: int
    examples: float | None

    @property
    def value(self) -> float:
        """The share; 0 of no mutants."""
        return self.found / self.mutants if self.mutants else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of 95 % by Wilson (1927); a mutant counts once, however many seeds hunted it."""
        if not self.mutants:
            return 0.0, 1.0
        ends = binomtest(round(self.found), self.mutants).proportion_ci(method="wilson")
        return float(ends.low), float(ends.high)


def difference(x: Share, y: Share) -> tuple[float, float, float]:
    """Return the difference of two shares and its interval of 95 %, by Newcombe (1998), method 10."""
    (x_low, x_high), (y_low, y_high) = x.interval, y.interval
    middle = x.value - y.value
    below = hypot(x.value - x_low, y_high - y.value)
    above = hypot(x_high - x.value, y.value - y_low)
    return middle, middle - below, middle + above


def not_told_apart() -> frozenset[str]:
    """Return the names, of closed ones the keys, of the mutants that nothing told from the correct engine."""
    lines = _NOT_TOLD_APART.read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def sample(mutants: Iterable[SourceMutant], size: int | None) -> list[SourceMutant]:
    """Return some mutants in the order of their keys, which is as good as random; None is all."""
    return sorted(mutants, key=lambda mutant: mutant.key)[:size]


@cache
def state_of_code() -> str:
    """Return a hash of the code of the engine, of what is drawn, of the hunt and of the judge."""
    digest = sha256()
    mutating = [Path(__file__).with_name(f"{name}.py") for name in ("copies", "operators", "source_mutants")]
    packages = (skipproof.stand.reference, skipproof.stand.hunt, strategies.engines, oracles.answers)
    judging = [path for package in packages for path in sorted(Path(package.__path__[0]).rglob("*.py"))]
    for path in mutating + judging:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A measurement that is kept in a file.

    Attributes:
        search: The name of the search, which tells its lines from those of others.
    """

    file: Path
    search: str
    examples: int

    def lines(self) -> list[Line]:
        """Return the lines of this measurement in the file."""
        if not self.file.exists():
            return []
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [line for line in lines if self._mine.items() <= line.items()]

    def run(
        self, mutants: Sequence[SourceMutant], seeds: Iterable[int], search: Search, *, jobs: int = 1
    ) -> Iterator[int]:
        """Hunt each mutant with each seed unless the file has the result; yield the number of hunts left."""
        done = {(line["mutant"], line["seed"]) for line in self.lines()}
        tasks = []
        for seed in seeds:
            missing = [mutant for mutant in mutants if (mutant.key, seed) not in done]
            parts = range(0, len(missing), _MUTANTS_PER_TASK)
            tasks += [(missing[start : start + _MUTANTS_PER_TASK], seed) for start in parts]
        left = sum(len(part) for part, _ in tasks)
        with self.file.open("a") as out:
            for result, is_trivial in _results(tasks, search, self.examples, jobs):
                out.write(json.dumps(self._mine | line_of(result, is_trivial=is_trivial)) + "\n")
                out.flush()
                left -= 1
                yield left

    @property
    def _mine(self) -> Line:
        """The fields that all lines of this measurement have."""
        return {"code": state_of_code(), "search": self.search, "examples_max": self.examples}


def line_of(result: SearchResult, *, is_trivial: bool) -> Line:
    """Return a result as a line of the file; it has the names of open mutants alone."""
    mutant = result.mutant
    return {
        "mutant": mutant.key,
        "name": mutant.name if mutant.is_open else None,
        "half": "open" if mutant.is_open else "closed",
        "kind": mutant.kind,
        "is_trivial": is_trivial,
        "seed": result.seed,
        "verdict": result.verdict,
        "examples": result.examples,
        "is_reached": result.is_reached,
        "is_otherwise": result.is_otherwise,
        "is_bolder": result.is_bolder,
    }


def _results(
    tasks: Sequence[tuple[Sequence[SourceMutant], int]], search: Search, examples: int, jobs: int
) -> Iterator[tuple[SearchResult, bool]]:
    """Yield the results of all tasks, each with whether its mutant is trivial."""
    if jobs == 1:
        for mutants, seed in tasks:
            yield from _run_task(mutants, seed, search, examples)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_all_of_task, mutants, seed, search, examples) for mutants, seed in tasks]
        for future in as_completed(waiting):
            yield from future.result()


def _all_of_task(*task: Any) -> list[tuple[SearchResult, bool]]:
    """Return the results of one task, from a process of its own."""
    return list(_run_task(*task))


def _run_task(
    mutants: Sequence[SourceMutant], seed: int, search: Search, examples: int
) -> Iterator[tuple[SearchResult, bool]]:
    """Yield the results of one task."""
    trivial = trivial_mutants(mutants)
    for result in search(mutants, seed=seed, examples=examples):
        yield result, result.mutant.name in trivial


def share(lines: Sequence[Mapping[str, Any]]) -> Share:
    """Return the share of mutants found; each counts by the share of its seeds that found it."""
    verdicts: dict[str, list[bool]] = {}
    for line in lines:
        verdicts.setdefault(line["mutant"], []).append(bool(line["verdict"]))
    examples = [line["examples"] for line in lines if line["verdict"]]
    return Share(
        found=sum(statistics.mean(some) for some in verdicts.values()),
        mutants=len(verdicts),
        examples=statistics.median(examples) if examples else None,
    )
