"""List the seeds that find each mutant of dynamic tables, and what validations alone find.

    PYTHONPATH=. python bench/refresh_mutants.py [SEEDS]

For each mutant: the first seed that finds it, in how many of the seeds it is found by which promises, and in
how many the three validations of [D] 6.1 fail more refreshes than in the project's own run of that seed. That
may be chance, as later refreshes of a wrong run are others; the project's own runs fail validations as well.
"""

import sys
from collections import Counter

from mutants.refreshes import MUTANTS
from sim.refreshes.checks import violations
from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.events import Failed
from sim.refreshes.histories import histories
from sim.refreshes.run import RefreshRun
from sim.refreshes.worlds import small_world
from skipproof.simulations.judging import judge_histories

SEEDS = 60
# A fourth is the project's own.
VALIDATIONS = (1, 2, 3)


def validations(run: RefreshRun) -> int:
    """Count the refreshes that a validation failed: a missing version, a repeated id, a missing row."""
    return sum(isinstance(event, Failed) and event.validation in VALIDATIONS for event in run.trace)


def broken_promises(seed: int, implementations: RefreshImplementations) -> tuple[set[str], int]:
    """Return the promises that a run breaks, and the number of refreshes that validations failed."""
    run = small_world(seed).run(seed, implementations)
    _, wrong = judge_histories(histories(run))
    return {one.invariant for one in (*violations(run), *wrong)}, validations(run)


def main(count: int) -> None:
    """Print the table in Markdown."""
    right = [broken_promises(seed, CORRECT) for seed in range(count)]
    assert not any(broken for broken, _ in right), "the project's own is right"
    print(f"| mutant | first seed | seeds of {count} | by | by validations alone |")
    print("| --- | --- | --- | --- | --- |")
    found_in, validated_in = 0, 0
    for name, mutant in MUTANTS.items():
        by: Counter[str] = Counter()
        seeds, seen = [], 0
        for seed in range(count):
            broken, failed = broken_promises(seed, mutant.implementations)
            by.update(broken)
            seeds += [seed] if broken else []
            seen += failed > right[seed][1]
        most = ", ".join(one for one, _ in by.most_common(4))
        print(f"| {name} | {seeds[0] if seeds else '-'} | {len(seeds)} | {most} | {seen} |", flush=True)
        found_in += bool(seeds)
        validated_in += seen > 0
    own = sum(failed > 0 for _, failed in right)
    print(
        f"\nOf {len(MUTANTS)} mutants {found_in} are found, and {validated_in} by validations alone, which "
        f"fail a refresh of the project's own in {own} of {count} seeds."
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
