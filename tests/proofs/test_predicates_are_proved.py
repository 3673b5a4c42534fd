"""PROOF-4: the program that a predicate compiles to is proved as a whole, as `skipproof prove` does it."""

from collections.abc import Mapping

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from mutants.rules.table import MUTANTS
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Cast,
    Compare,
    Comparison,
    Expression,
    Like,
    Operator,
)
from pruning.expressions.types import DOUBLE, FLOAT, INTEGER, STRING
from pruning.rules.compile.table import RULES
from skipproof.proofs import prover
from skipproof.proofs.axioms import AXIOMS, assumed_axioms, is_exact
from skipproof.proofs.prover import Proof
from skipproof.proofs.running import ProofVerdict, prove_predicate
from skipproof.proofs.subjects.parts import A, B, S, X, Y, equal, less, literal
from skipproof.proofs.subjects.table import SUBJECTS
from strategies.base.layouts import tables
from strategies.predicates.predicates import predicates

EFFORT = 20_000_000
SECONDS = 300.0
METRES = Arithmetic(Operator.MULTIPLY, X, literal(0.3048, DOUBLE), DOUBLE)
UNITS: Expression = less(literal(1500.0, DOUBLE), Case(((equal(S, literal(b"feet", STRING)), METRES),), X))
# A subject that assumes each axiom.
ASSUMING: Mapping[str, tuple[str, str]] = {
    "PREFIX": ("patterns", "startswith"),
    "ORDER": ("patterns", "startswith"),
    "SUCCESSOR": ("text", "upper ="),
    "ROUNDING": ("arithmetic", "double +"),
    "PRODUCT": ("arithmetic", "double *"),
    "QUOTIENT": ("arithmetic", "double /"),
    "KEPT": ("arithmetic", "double /"),
    "SMALLEST": ("arithmetic", "double /"),
    "MONOTONE": ("elementary", "exp"),
    "LIBM": ("elementary", "exp"),
    "POSITIVE": ("elementary", "exp"),
    "TEXT": ("rounding", "round of a double"),
    "NEIGHBOURS": ("rounding", "round of a double"),
    "SETS": ("patterns", "LIKE one character"),
    "PREIMAGE": ("text", "upper ="),
    "PART": ("text", "upper ="),
    "MEMBER": ("text", "upper ="),
    "MEETS": ("text", "upper ="),
    "START": ("text", "rtrim"),
    "ZONES": ("time", "an instant's date"),
    "CYCLE": ("fields", "quarter of two"),
    "NEXT": ("fields", "month among values"),
    "MONTHS": ("time", "months_between"),
    "ZONE": ("cast", "date to timestamp, ANSI"),
}


@settings(max_examples=15)
@given(st.data())
def test_no_witness_that_is_a_row_is_found_against_a_drawn_predicate(data: st.DataObject) -> None:
    """Whatever is drawn has a symbolic meaning, and no claim on it is refuted for certain."""
    predicate = data.draw(predicates(data.draw(tables())))
    proof = Proof(predicate, compiled=True)
    failures = proof.failures(effort=EFFORT)
    event("proved" if not failures else "not decided")
    assert not (is_exact(proof) and any(failure.decided for failure in failures)), to_sql(predicate)


def test_a_predicate_that_mixes_units_is_proved_and_refutes_mutants() -> None:
    report = prove_predicate(UNITS, seconds=SECONDS)
    assert report.verdict is ProofVerdict.PROVED
    assert report.claims == 3
    assert {"ORDER", "PRODUCT", "ROUNDING"} <= set(report.axioms)
    assert {fate.value for fate in report.mutants.values()} >= {"refuted"}


def test_a_wrong_program_of_a_predicate_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in it is known by an axiom, so that the witness is a row."""
    mutant = MUTANTS["> without NaN"]
    monkeypatch.setattr(prover, "RULES", {**RULES, mutant.breaks: mutant.rule})
    report = prove_predicate(Compare(Comparison.GREATER, X, Y), seconds=SECONDS)
    assert report.verdict is ProofVerdict.REFUTED
    assert report.mutants == {}


def test_a_witness_that_only_axioms_allow_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS["LIKE as its prefix"]
    monkeypatch.setattr(prover, "RULES", {**RULES, mutant.breaks: mutant.rule})
    report = prove_predicate(Like(S, b"N0%x"), seconds=SECONDS)
    assert report.verdict is ProofVerdict.UNKNOWN
    assert report.failures[0].detail.startswith("no row for certain: ")


def test_a_predicate_that_rounds_to_two_widths_is_not_decided() -> None:
    """A proof has one function that rounds; it would take the two for equal."""
    rounded = (Cast(Arithmetic(Operator.ADD, X, Y, DOUBLE), FLOAT), Cast(A, DOUBLE))
    report = prove_predicate(less(Cast(rounded[0], DOUBLE), rounded[1]), seconds=SECONDS)
    assert report.verdict is ProofVerdict.UNKNOWN
    assert "to float and to double" in report.failures[0].detail


def test_without_time_a_proof_is_not_decided() -> None:
    report = prove_predicate(And((less(A, B), equal(A, literal(3, INTEGER)))), seconds=1e-9)
    assert report.verdict is ProofVerdict.UNKNOWN


def test_each_axiom_is_assumed_by_a_proof() -> None:
    assert set(ASSUMING) == set(AXIOMS)
    for name, (family, subject) in ASSUMING.items():
        assert name in assumed_axioms(Proof(SUBJECTS[family][subject])), name


def test_no_axiom_is_named_that_a_proof_does_not_assume() -> None:
    assert assumed_axioms(Proof(SUBJECTS["comparison"]["= of columns"])) == ()
    assert assumed_axioms(Proof(SUBJECTS["patterns"]["startswith"])) == ("PREFIX", "ORDER")
