"""PROOF-3: what is known of a block's values beyond their bounds only ever says "no", and is right."""

import pytest

from mutants.rules.builders import HoldsNoNull
from pruning.expressions.trees import And, Column, Expression, In, IsNull, Not, Or, StartsWith
from pruning.expressions.types import DOUBLE, STRING
from pruning.rules.analysis.evaluation import BOUNDS_ONLY, Analysis, ExtraMetadata
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse, truth_flags
from pruning.rules.program.operations import Aspect
from skipproof.proofs.prover import Proof
from skipproof.proofs.subjects.parts import NAN, A, B, S, X, equal, less, literal

INDEXED = ExtraMetadata(indexed=frozenset("asx"))
SUBJECTS: dict[str, Expression] = {
    "=": equal(A, literal(5)),
    "<>": Not(equal(A, literal(5))),
    "IN": In(S, (literal(b"a", STRING), literal(b"b", STRING))),
    "IN with NULL": In(A, (literal(1), literal(None))),
    "IN with NaN": In(X, (literal(1.0, DOUBLE), literal(NAN, DOUBLE))),
    "= or NULL": Or((equal(A, literal(5)), IsNull(A))),
    "prefix": StartsWith(S, b"ab"),
    "AND": And((equal(A, literal(5)), less(A, B), In(S, (literal(b"a", STRING),)))),
    "NOT of AND": Not(And((Not(equal(A, literal(5))), Not(equal(X, literal(2.0, DOUBLE)))))),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_asking_which_values_a_block_holds_is_sound(name: str) -> None:
    """If a row's value is held whenever it is asked for, no flag that a row needs is lost."""
    assert Proof(SUBJECTS[name], beyond=INDEXED).failures() == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_a_block_holds_is_asked_for_true_alone(name: str) -> None:
    """No list of values ever proves that all rows match, as it might be incomplete."""
    analysis = Analysis(RULES, beyond=INDEXED)
    true, *others = truth_flags(analysis, SUBJECTS[name])
    assert any(input_.aspect is Aspect.MAY_HOLD for input_ in analysis.build.program(true).inputs)
    assert all(input_.aspect is not Aspect.MAY_HOLD for input_ in analysis.build.program(*others).inputs)


def test_nothing_is_asked_that_is_not_kept() -> None:
    for subject in SUBJECTS.values():
        inputs = analyse(subject, RULES, beyond=BOUNDS_ONLY).inputs
        assert all(input_.aspect is not Aspect.MAY_HOLD for input_ in inputs)


def test_forgetting_null_is_refuted() -> None:
    assert Proof(SUBJECTS["= or NULL"], beyond=INDEXED, build=HoldsNoNull()).refutation() is not None


def test_a_column_of_no_name_is_not_asked() -> None:
    program = analyse(equal(Column("b", A.type), literal(5)), RULES, beyond=INDEXED)
    assert all(input_.aspect is not Aspect.MAY_HOLD for input_ in program.inputs)
