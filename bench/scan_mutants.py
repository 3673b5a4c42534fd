"""List the seeds that find each mutant of scans, and the invariants that do.

    PYTHONPATH=. python bench/scan_mutants.py [SEEDS] [MUTANT ...]

For each mutant: the first seed that finds it, in how many of the seeds it is found, and by which invariants.
The correct simulator must pass a seed that finds a mutant. A mutant that raises an exception of its own ends
the program, because it is not a mutant.
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


def violated_invariants(seed: int, implementations: ScanImplementations) -> set[str]:
    """Return the invariants that a run violates."""
    return {one.invariant for one in violations(_world(seed).run(seed, implementations))}


def main(count: int, names: Sequence[str]) -> None:
    """Print the table in Markdown."""
    print("| mutant | what is wrong | first seed | seeds of", count, "| by |")
    print("| --- | --- | --- | --- | --- |")
    finding: set[int] = set()
    for name in names or MUTANTS:
        by: Counter[str] = Counter()
        seeds = []
        for seed in range(count):
            broken = violated_invariants(seed, MUTANTS[name].implementations)
            by.update(broken)
            seeds += [seed] if broken else []
        finding.update(seeds)
        most = ", ".join(f"{one} {times}" for one, times in by.most_common())
        first = seeds[0] if seeds else "-"
        print(f"| {name} | {MUTANTS[name].what} | {first} | {len(seeds)} | {most} |", flush=True)
    assert not any(violated_invariants(seed, CORRECT) for seed in finding), "the project's own is right"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS, sys.argv[2:])
