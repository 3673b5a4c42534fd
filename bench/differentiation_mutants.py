"""Count the wrong results of broken rules that the validations of production catch alone ([D] 6.1).

Each mutant has one mistake. A case is a random query over eight intervals; it is wrong from the first
interval on after which the maintained result is not that of full evaluation. Validations see at that
moment that an id is inserted twice, that a row is deleted which does not exist, or that ids of a full
result repeat; they never see full evaluation.

    PYTHONPATH=. python bench/differentiation_mutants.py [CASES]
"""

import sys
from collections import Counter
from random import Random
from time import process_time

from dynamic_tables.bags.bag_backend import BagBackend
from mutants.differentiation import MUTANTS
from strategies.dynamic.cases import MaintenanceFinding, drawn_case, interval_outcomes

DEPTH = 3
CASES = 2_000


def findings(backend: BagBackend, cases: int) -> Counter[MaintenanceFinding | None]:
    """Count the cases by their finding; None means that the case was right to its end."""
    found: Counter[MaintenanceFinding | None] = Counter()
    for seed in range(cases):
        random = Random(seed)
        last = None
        for outcome in interval_outcomes(random, drawn_case(random, DEPTH), backend):
            last = outcome.finding
        found[last] += 1
    return found


def main() -> None:
    """Print a table in Markdown."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    began = process_time()
    sound = findings(BagBackend(), cases)
    took = process_time() - began
    wrong = cases - sound[None]
    print(f"sound rules: {wrong} of {cases} cases wrong, {cases / took:.0f} cases a second of CPU time\n")
    print("| mutant | wrong | seen by validations | inserted twice | deletes no row | ids repeat in full |")
    print("|---|---|---|---|---|---|")
    for name, backend in MUTANTS.items():
        found = findings(backend, cases)
        wrong = cases - found[None]
        seen = [
            found[one]
            for one in (MaintenanceFinding.REPEATED, MaintenanceFinding.MISSING, MaintenanceFinding.DUPLICATE)
        ]
        share = f"{sum(seen)} ({sum(seen) / wrong:.0%})" if wrong else "0"
        print(f"| {name} | {wrong} | {share} | {' | '.join(map(str, seen))} |", flush=True)


if __name__ == "__main__":
    main()
