"""Runs proofs and reports on each: its verdict, its axioms, its time and the mutants it refutes."""

import enum
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression, Order
from skipproof.proofs.axioms import assumed_axioms, is_exact, rounds_to_two_widths
from skipproof.proofs.catalogue import Selection
from skipproof.proofs.generic_mutants import GENERIC_MUTANTS
from skipproof.proofs.prover import Failure, Proof
from skipproof.proofs.subjects.table import SUBJECTS

# What Z3 may spend on a claim of a mutant.
MUTANT_EFFORT = 100_000_000
MUTANT_SECONDS = 20.0


class ProofVerdict(enum.Enum):
    """The verdict of a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class MutantFate(enum.Enum):
    """The fate of a mutant in a proof."""

    REFUTED = "refuted"
    SURVIVED = "survived"
    UNCHANGED = "the same program"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofReport:
    """One proof that was run.

    Attributes:
        name: The name of what is proved.
        sql: The expression.
        operations: The number of operations of the program that the rules compile it to.
        claims: The number of claims.
        axioms: The names of the axioms that are assumed.
        failures: The claims that are not proved.
        exact: Whether a witness is always a row; else the axioms may allow what no row can be.
        seconds: The time that the proof took, that of its mutants not counted.
        mutants: What came of each generic mutant, by its name.
    """

    name: str
    sql: str
    operations: int
    claims: int
    axioms: tuple[str, ...]
    failures: tuple[Failure, ...]
    exact: bool
    seconds: float
    mutants: dict[str, MutantFate]

    @property
    def verdict(self) -> ProofVerdict:
        """PROVED if every claim is; REFUTED if one has a witness; UNKNOWN if one was not decided."""
        if not self.failures:
            return ProofVerdict.PROVED
        is_refuted = any(failure.decided for failure in self.failures)
        return ProofVerdict.REFUTED if is_refuted else ProofVerdict.UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {
            "name": self.name,
            "sql": self.sql,
            "verdict": self.verdict.value,
            "claims": self.claims,
            "operations": self.operations,
            "axioms": list(self.axioms),
            "seconds": round(self.seconds, 3),
            "mutants": {name: fate.value for name, fate in self.mutants.items()},
            "failures": [
                {"claim": failure.claim, "refuted": failure.decided, "detail": failure.detail}
                for failure in self.failures
            ],
        }


def run_proofs(selection: Selection, *, seconds: float) -> Iterator[ProofReport]:
    """Run the proofs of a selection, one after the other.

    Args:
        seconds: The time for each proof.
    """
    for family, subject in selection.subjects:
        expression = SUBJECTS[family][subject]
        yield _run_proof(f"{family}: {subject}", expression, seconds=seconds, compiled=False)


def prove_predicate(predicate: Expression, *, seconds: float) -> ProofReport:
    """Prove the program that a predicate compiles to.

    A witness counts only where it is a row for certain. Of functions that only axioms are known of, the
    solver may choose values that the true functions do not have; such a claim is not decided. Nor is any
    claim of a predicate that rounds to float and to double.

    Raises:
        NoSecondOpinion: a part of the predicate has no symbolic meaning.
    """
    report = _run_proof("the predicate", predicate, seconds=seconds, compiled=True)
    if rounds_to_two_widths(predicate):
        failure = Failure(
            "all", decided=False, detail="it rounds to float and to double; a proof knows one of them"
        )
        return replace(report, failures=(failure,), mutants={})
    if report.exact:
        return report
    failures = tuple(
        Failure(failure.claim, decided=False, detail=f"no row for certain: {failure.detail}")
        if failure.decided
        else failure
        for failure in report.failures
    )
    return replace(report, failures=failures)


def _run_proof(name: str, expression: Expression, *, seconds: float, compiled: bool) -> ProofReport:
    began = time.monotonic()
    proof = Proof(expression, compiled=compiled)
    failures = tuple(proof.failures(seconds=seconds))
    took = time.monotonic() - began
    program = proof.statement().program
    return ProofReport(
        name=name,
        sql=_sql(expression),
        operations=len(program.operations),
        claims=len(proof.statement().claims),
        axioms=assumed_axioms(proof),
        failures=failures,
        exact=is_exact(proof),
        seconds=took,
        mutants=_fates(proof) if not failures else {},
    )


def _fates(proof: Proof) -> dict[str, MutantFate]:
    """Return the fate of each generic mutant in a proof that holds."""
    fates: dict[str, MutantFate] = {}
    for mutant in GENERIC_MUTANTS:
        mutated = Proof(proof.expression, build=mutant(), compiled=proof.compiled)
        if mutated.statement().program == proof.statement().program:
            fates[mutant.__name__] = MutantFate.UNCHANGED
        else:
            witness = mutated.refutation(effort=MUTANT_EFFORT, seconds_per_claim=MUTANT_SECONDS)
            fates[mutant.__name__] = MutantFate.SURVIVED if witness is None else MutantFate.REFUTED
    return fates


def _sql(expression: Expression) -> str:
    if isinstance(expression, Order):
        return f"the order of {to_sql(expression.left)} and {to_sql(expression.right)}"
    return to_sql(expression)
