"""Which flaws of scans are found within how many seeds, and by which invariants.

    PYTHONPATH=. python bench/scan_flaws.py [SEEDS] [FLAW ...]

Of each flaw: the first seed that finds it, in how many of the seeds it is found, and by which invariants. The
project's own run of a seed that finds one is asked too, and must be right. A flaw that raises an exception of
its own ends the program: it is not found, it is no flaw.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache

from mutants.scans import MUTANTS
from sim.scans.checks import violations
from sim.scans.run import CORRECT, ScanImplementations
from sim.scans.worlds import SmallScanWorld, small_world

SEEDS = 200


@cache
def _world(seed: int) -> SmallScanWorld:
    return small_world(seed)


def found(seed: int, implementations: ScanImplementations) -> set[str]:
    """The invariants that a run violates."""
    return {one.invariant for one in violations(_world(seed).run(seed, implementations))}


def main(count: int, names: Sequence[str]) -> None:
    """Print the table in Markdown."""
    print("| flaw | what is wrong | first seed | seeds of", count, "| by |")
    print("| --- | --- | --- | --- | --- |")
    finding: set[int] = set()
    for name in names or MUTANTS:
        by: Counter[str] = Counter()
        seeds = []
        for seed in range(count):
            broken = found(seed, MUTANTS[name].implementations)
            by.update(broken)
            seeds += [seed] if broken else []
        finding.update(seeds)
        most = ", ".join(f"{one} {times}" for one, times in by.most_common())
        first = seeds[0] if seeds else "-"
        print(f"| {name} | {MUTANTS[name].what} | {first} | {len(seeds)} | {most} |", flush=True)
    assert not any(found(seed, CORRECT) for seed in finding), "the project's own is right"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS, sys.argv[2:])
