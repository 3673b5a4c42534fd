"""Compares hunts that begin with a corpus with uniform ones, by the processor time until a mutant is found.

The corpus is kept by a hunt of the correct engine, of another seed; its time is not counted.
"""

import math
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mutants.source.copies import EngineCopy
from mutants.source.searching import one_finding
from mutants.source.source_mutants import SourceMutant
from skipproof.stand.hunt.corpus import Corpus
from skipproof.stand.hunt.hunting import capabilities, hunt

UNIFORM, WITH_CORPUS = "uniform", "with a corpus"
# No seed of a measurement or of the oracle is as high.
_CORPUS_SEED = 10_000
# The length of the hunts that keep a corpus.
CORPUS_EXAMPLES = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSearch:
    """The hunt of one mutant, in one way; a mutant that is not found took infinitely long."""

    way: str
    seconds: float
    examples: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySummary:
    """The medians of the hunts of one way."""

    catches: int
    hunts: int
    seconds: float
    examples: float


def compare_searches(
    mutants: Sequence[SourceMutant], *, seed: int, examples: int, corpus_examples: int = CORPUS_EXAMPLES
) -> Iterator[TimedSearch]:
    """Hunt each mutant of Parquet files uniformly and with a corpus, and yield both hunts.

    Args:
        examples: The length of each hunt, if it does not find the mutant before.
        corpus_examples: The length of the hunt that keeps the corpus.
    """
    with TemporaryDirectory() as directory:
        folder, engine = Path(directory, "correct"), EngineCopy()
        limits = one_finding(corpus_examples)
        hunt(engine, capabilities(engine), limits, hunt_seed=_CORPUS_SEED + seed, corpus=Corpus(folder))
        for mutant in mutants:
            if mutant.tables == "files":
                copy = Path(directory, mutant.key)
                shutil.copytree(folder, copy)
                yield _timed_hunt(UNIFORM, mutant, None, seed=seed, examples=examples)
                yield _timed_hunt(WITH_CORPUS, mutant, Corpus(copy), seed=seed, examples=examples)
                shutil.rmtree(copy)


def _timed_hunt(
    way: str, mutant: SourceMutant, corpus: Corpus | None, *, seed: int, examples: int
) -> TimedSearch:
    """Hunt one mutant until it is found."""
    engine = EngineCopy(mutant, tables=mutant.tables)
    state = hunt(
        engine,
        capabilities(engine),
        one_finding(examples),
        hunt_seed=seed,
        corpus=corpus,
        clock=time.process_time,
    )
    if not state.findings:
        return TimedSearch(way=way, seconds=math.inf, examples=math.inf)
    (finding,) = state.findings
    return TimedSearch(way=way, seconds=finding.seconds, examples=finding.examples)


def summarize(searches: Sequence[TimedSearch], way: str) -> WaySummary:
    """Return the medians of the hunts of one way, and how many found their mutant."""
    mine = [search for search in searches if search.way == way]
    return WaySummary(
        catches=sum(search.seconds < math.inf for search in mine),
        hunts=len(mine),
        seconds=statistics.median(search.seconds for search in mine),
        examples=statistics.median(search.examples for search in mine),
    )
