"""The table of the generic mutants that each proof refutes, and the one that the default run takes of them.

    python tests/proofs/refuting_mutants.py

writes the table anew, which takes some minutes. A line has a mark for each generic mutant, in the order of
`GENERIC_MUTANTS`: x where the proof refutes it.
"""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from pruning.expressions.trees import Expression
from pruning.rules.program.builder import Builder
from skipproof.proofs.generic_mutants import GENERIC_MUTANTS
from skipproof.proofs.prover import Proof
from skipproof.proofs.subjects.table import SUBJECTS

TABLE = Path(__file__).with_suffix(".txt")
# A mutant is listed if Z3 refutes it with this effort. A deep run gives those that are listed more, and those
# that are not less, so that another release of Z3 seldom makes a difference.
TABLE_EFFORT = 100_000_000
# More than the effort takes on a busy machine; it ends only what Z3 does not count as effort.
SECONDS_PER_CLAIM = 900.0
LISTED_EFFORT = 10 * TABLE_EFFORT
UNLISTED_EFFORT = TABLE_EFFORT // 10


@functools.cache
def refuting_mutants() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """The names of the generic mutants that each proof refutes, by family and name of the subject."""
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        marks, _, title = line.partition(" ")
        family, _, name = title.partition(": ")
        table[family, name] = tuple(
            mutant.__name__ for mutant, mark in zip(GENERIC_MUTANTS, marks, strict=True) if mark == "x"
        )
    return table


def chosen_mutant(family: str, name: str) -> str:
    """The one of the listed mutants that a hash of the subject chooses; another subject, another mutant."""
    listed = refuting_mutants()[family, name]
    digest = hashlib.sha256(f"{family}: {name}: {SUBJECTS[family][name]!r}".encode()).digest()
    return listed[int.from_bytes(digest[:8], "big") % len(listed)]


def is_refuted_with(subject: Expression, mutant: type[Builder], effort: int) -> bool:
    """Tell whether the proof of a subject refutes a generic mutant with an effort for each claim."""
    proof = Proof(subject, build=mutant())
    return proof.refutation(effort=effort, seconds_per_claim=SECONDS_PER_CLAIM) is not None


def main() -> None:
    """Write the table."""
    lines = []
    for family, subjects in SUBJECTS.items():
        for name, subject in subjects.items():
            marks = "".join(
                "x" if is_refuted_with(subject, mutant, TABLE_EFFORT) else "." for mutant in GENERIC_MUTANTS
            )
            lines.append(f"{marks} {family}: {name}")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
