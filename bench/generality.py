"""Measure how general the hunt is: the share it finds of mutants of the small engine that nobody chose.

    PYTHONPATH=. python bench/generality.py [--examples N] [--seeds N] [--jobs N] [--sample K] [--kind KIND]
        [--results FILE] [--survivors] [--reveal]
    PYTHONPATH=. python bench/generality.py --oracle [--cases N] [--seeds N] [--sample K] [--results FILE]
    PYTHONPATH=. python bench/generality.py --compare-search N [--examples N] [--sample K] [--half open]

Mutation operators make the mutants of the engine's source (`mutants/source`). The hash of its name puts each
into the open half, whose survivors may be looked at to improve what is drawn, or into the closed half, of
which only counts are printed unless `--reveal`. The share of the closed half tells what the hunt finds of
faults that it was not improved with. Results go to a file at once, and a rerun goes on after the last.

`--oracle` checks those that no hunt in the file found by another generator, then hunts them with other seeds,
and prints the mutants that nothing told from the correct engine, in the form of
`mutants/source/not_told_apart.txt`. The measurement leaves out those that this file lists.
`--compare-search` hunts the mutants of a half one by one, uniformly and with a corpus that a hunt of the
correct engine has kept, with N seeds, and prints the processor time until they are found. It prints no name.
The command fails if the closed half is found in less than 85 % of the hunts, or is found by more than 10
points less often than the open half.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from mutants.source.comparing import UNIFORM, WITH_CORPUS, TimedSearch, compare_searches, summarize
from mutants.source.directed import search_directed
from mutants.source.measuring import (
    Line,
    Measurement,
    Share,
    difference,
    not_told_apart,
    sample,
    share,
)
from mutants.source.operators import OPERATORS
from mutants.source.searching import search_together
from mutants.source.source_mutants import SourceMutant, source_mutants

EXAMPLES = 2_000
SHARE_MIN, DIFFERENCE_MAX = 0.85, 0.10
# The seeds of the oracle's hunts; those of a measurement are less.
ORACLE_SEED = 1_000
# The cases of the directed check, of several conditions and questions each.
CASES = 1_000
_SEARCHES = {"uniform": search_together, "directed": search_directed}
_MARKS = ("is_reached", "is_otherwise", "is_bolder")
_REASONS = (
    ("the changed statement was never executed", lambda line: not line["is_reached"]),
    ("the answers were right and as much was read", lambda line: not line["is_otherwise"]),
    ("the answers were right and never less was read", lambda line: not line["is_bolder"]),
    ("the answers were right, although at times less was read", lambda line: True),
)


def _percent(figures: Share) -> str:
    """Return a share with its counts and its interval; a dash of no mutants."""
    if not figures.mutants:
        return "-"
    low, high = figures.interval
    counts = f"{figures.found:,.1f} of {figures.mutants:,}"
    return f"{figures.value:.1%} ({counts}; {low:.1%} to {high:.1%})"


def halves_table(lines: Sequence[Line]) -> Table:
    """Return the figures of both halves, with and without trivial mutants, and by kind."""
    table = Table(title="mutants found, with intervals of 95 %")
    for heading in ("mutants", "open", "closed", "examples, open", "examples, closed"):
        table.add_column(heading, justify="left" if heading == "mutants" else "right")
    rows: list[tuple[str, list[Line]]] = [
        ("all", list(lines)),
        ("not trivial", [line for line in lines if not line["is_trivial"]]),
        *((kind, [line for line in lines if line["kind"] == kind]) for kind in OPERATORS),
    ]
    for name, some in rows:
        both = [share([line for line in some if line["half"] == half]) for half in ("open", "closed")]
        medians = ["-" if half.examples is None else f"{half.examples:,.0f}" for half in both]
        table.add_row(name, *map(_percent, both), *medians)
        if name == "not trivial":
            table.add_section()
    return table


def print_survivors(lines: Sequence[Line], mutants: Sequence[SourceMutant], *, reveal: bool) -> None:
    """Print the mutants that no seed found, each with its change; closed ones only if revealed."""
    for mutant in sorted(_survivors(lines, mutants), key=lambda mutant: mutant.name):
        if mutant.is_open or reveal:
            print(f"{mutant.kind}\t{mutant.name}\t{mutant.change()}")


def print_not_told_apart(lines: Sequence[Line], mutants: Sequence[SourceMutant], cases: int) -> None:
    """Print the mutants that nothing convicts, by the reason; of closed ones the keys."""
    efforts, remaining = [], {}
    for mutant in mutants:
        mine = [line for line in lines if line["mutant"] == mutant.key]
        if mine:
            efforts.append(sum(line["examples"] for line in mine))
            marks = {mark: any(line[mark] for line in mine) for mark in _MARKS}
            remaining[mutant.name if mutant.is_open else mutant.key] = marks
    effort = f"{cases:,} directed cases and {min(efforts, default=0):,} examples of the uniform hunt"
    print(f"# Not told apart by {effort}, or more.")
    for reason, holds in _REASONS:
        names = sorted(name for name, marks in remaining.items() if holds(marks))
        for name in names:
            del remaining[name]
        if names:
            print(f"#\n# {len(names)}: {reason}.\n#", *names, sep="\n")


def meets_bars(lines: Sequence[Line]) -> bool:
    """Print the difference of the halves, and tell whether both bars are met."""
    open_half, closed_half = (
        share([line for line in lines if line["half"] == half]) for half in ("open", "closed")
    )
    middle, low, high = difference(open_half, closed_half)
    print(f"open less closed: {middle:+.1%} ({low:+.1%} to {high:+.1%})")
    return closed_half.value >= SHARE_MIN and middle <= DIFFERENCE_MAX


def _arguments() -> Any:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="of each hunt (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="the number of hunts of each mutant")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--sample", type=int, metavar="K", help="hunt K mutants only")
    parser.add_argument("--kind", choices=list(OPERATORS), help="hunt the mutants of one kind only")
    parser.add_argument("--results", type=Path, default=Path("generality.jsonl"), metavar="FILE")
    parser.add_argument("--survivors", action="store_true", help="print open mutants that survive")
    parser.add_argument("--reveal", action="store_true", help="print closed ones too")
    parser.add_argument("--cases", type=int, default=CASES, help="of the oracle (default %(default)s)")
    parser.add_argument("--compare-search", type=int, metavar="N", help="with and without a corpus, N seeds")
    parser.add_argument("--half", choices=["open", "closed"], default="closed", help="of --compare-search")
    parser.add_argument("--oracle", action="store_true", help="list the mutants that are not told apart")
    return parser.parse_args()


def print_comparison(mutants: Sequence[SourceMutant], seeds: Sequence[int], examples: int) -> None:
    """Hunt mutants in both ways, and print the medians after each seed."""
    searches: list[TimedSearch] = []
    for seed in seeds:
        searches += compare_searches(mutants, seed=seed, examples=examples)
        uniform, with_corpus = (summarize(searches, way) for way in (UNIFORM, WITH_CORPUS))
        for way, summary in ((UNIFORM, uniform), (WITH_CORPUS, with_corpus)):
            print(
                f"{way}: {summary.catches:,} of {summary.hunts:,} hunts found their mutant, median "
                f"{summary.seconds:.2f} s and {summary.examples:,.0f} examples"
            )
        print(f"ratio of the medians of time after seed {seed}: {with_corpus.seconds / uniform.seconds:.2f}")


def _hunt(measurement: Measurement, mutants: Sequence[SourceMutant], seeds: Sequence[int], jobs: int) -> None:
    """Hunt the mutants with each seed, and show how far it is."""
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("hunting", total=len(mutants) * len(seeds))
        for left in measurement.run(mutants, seeds, _SEARCHES[measurement.search], jobs=jobs):
            progress.update(task, completed=len(mutants) * len(seeds) - left)


def _survivors_of_oracle(
    measurement: Measurement, mutants: Sequence[SourceMutant], seeds: Sequence[int], cases: int, jobs: int
) -> tuple[list[Line], list[SourceMutant]]:
    """Return the lines of the hunts, and the mutants that neither a hunt nor the directed check finds."""
    directed = replace(measurement, search="directed", examples=cases)
    remaining = _survivors(measurement.lines(), mutants)
    _hunt(directed, remaining, [ORACLE_SEED], jobs)
    remaining = _survivors(directed.lines(), remaining)
    for seed in seeds:
        # A mutant that any hunt has found needs no other.
        _hunt(measurement, remaining, [seed], jobs)
        remaining = _survivors(measurement.lines(), remaining)
    return measurement.lines(), remaining


def _survivors(lines: Sequence[Line], mutants: Sequence[SourceMutant]) -> list[SourceMutant]:
    """Return the mutants that no line says are found."""
    found = {line["mutant"] for line in lines if line["verdict"]}
    return [mutant for mutant in mutants if mutant.key not in found]


def main() -> None:
    """Hunt, print, and fail if a bar is missed."""
    arguments = _arguments()
    removed = frozenset[str]() if arguments.oracle else not_told_apart()
    candidates = [
        mutant
        for mutant in source_mutants()
        if not {mutant.name, mutant.key} & removed and arguments.kind in (None, mutant.kind)
    ]
    mutants = sample(candidates, arguments.sample)
    if arguments.compare_search:
        half = [mutant for mutant in candidates if mutant.is_open == (arguments.half == "open")]
        print_comparison(sample(half, arguments.sample), range(arguments.compare_search), arguments.examples)
        return
    first = ORACLE_SEED if arguments.oracle else 0
    seeds = range(first, first + arguments.seeds)
    measurement = Measurement(file=arguments.results, search="uniform", examples=arguments.examples)
    if arguments.oracle:
        lines, remaining = _survivors_of_oracle(measurement, mutants, seeds, arguments.cases, arguments.jobs)
        print_not_told_apart(lines, remaining, arguments.cases)
        return
    _hunt(measurement, mutants, seeds, arguments.jobs)
    keys = {mutant.key for mutant in mutants}
    lines = [line for line in measurement.lines() if line["mutant"] in keys and line["seed"] in seeds]
    print(f"{len(source_mutants()):,} mutants; {len(removed):,} are not told apart; {len(mutants):,} hunted")
    Console(width=150).print(halves_table(lines))
    is_met = meets_bars(lines)
    if arguments.survivors:
        print_survivors(lines, mutants, reveal=arguments.reveal)
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
