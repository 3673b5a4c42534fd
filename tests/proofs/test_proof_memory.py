"""A proof that is remembered is not asked again, unless its question has changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import z3
from proof_memory import ANEW, FILE, WRITTEN, ProofMemory, read_memory

from mutants.rules.table import MUTANTS
from pruning.rules.analysis.evaluation import Rule, RuleKey
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.solver.theory import Theory
from skipproof.proofs.prover import Failure, Proof
from skipproof.proofs.subjects.table import SUBJECTS

SUBJECT = SUBJECTS["comparison"]["> of floats"]
MUTANT = MUTANTS["> without NaN"]
MUTATED: Mapping[RuleKey, Rule] = {**RULES, MUTANT.breaks: MUTANT.rule}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """The file that keys are written to."""
    return tmp_path / "written.txt"


@pytest.fixture
def empty(key_file: Path) -> ProofMemory:
    """A memory that knows nothing and writes."""
    return ProofMemory(frozenset(), "4.0", key_file)


@pytest.fixture
def asked_proofs(monkeypatch: pytest.MonkeyPatch) -> list[Proof]:
    """The proofs whose claims were put to Z3."""
    proofs: list[Proof] = []

    def count_calls(method: Callable[..., Any]) -> Callable[..., Any]:
        def count(proof: Proof, **limits: Any) -> Any:
            proofs.append(proof)
            return method(proof, **limits)

        return count

    for method in (Proof.failures, Proof.refutation):
        monkeypatch.setattr(Proof, method.__name__, count_calls(method))
    return proofs


def read_again(memory: ProofMemory) -> ProofMemory:
    """Return the memory of the keys that were written, as a run reads it after `make proofs`."""
    assert memory.key_file is not None
    return replace(memory, keys=frozenset(memory.key_file.read_text().split()))


def test_a_proof_that_is_remembered_is_not_asked(empty: ProofMemory, asked_proofs: list[Proof]) -> None:
    assert empty.failures(Proof(SUBJECT)) == []
    assert read_again(empty).failures(Proof(SUBJECT)) == []
    assert len(asked_proofs) == 1


def test_a_refutation_that_is_remembered_is_not_asked(empty: ProofMemory, asked_proofs: list[Proof]) -> None:
    assert empty.is_refuted(Proof(SUBJECT, MUTATED))
    assert read_again(empty).is_refuted(Proof(SUBJECT, MUTATED))
    assert len(asked_proofs) == 1


def test_what_is_remembered_is_written_again(empty: ProofMemory, key_file: Path) -> None:
    """So that a run that writes has every key, and only those of questions that are still asked."""
    assert empty.failures(Proof(SUBJECT)) == []
    memory = read_again(empty)
    key_file.unlink()
    assert memory.failures(Proof(SUBJECT)) == []
    assert set(key_file.read_text().split()) == memory.keys


def test_that_one_is_proved_is_not_that_it_is_refuted(empty: ProofMemory, asked_proofs: list[Proof]) -> None:
    assert empty.failures(Proof(SUBJECT)) == []
    assert not read_again(empty).is_refuted(Proof(SUBJECT))
    assert len(asked_proofs) == 2


def test_a_changed_rule_is_proved_again(empty: ProofMemory, asked_proofs: list[Proof]) -> None:
    empty.failures(Proof(SUBJECT))
    assert read_again(empty).failures(Proof(SUBJECT, MUTATED)) != []
    assert len(asked_proofs) == 2


def test_a_changed_axiom_is_proved_again(
    empty: ProofMemory, asked_proofs: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty.failures(Proof(SUBJECT))
    axioms = Theory.axioms
    monkeypatch.setattr(Theory, "axioms", lambda theory: [*axioms(theory), z3.Int("more") > 0])
    read_again(empty).failures(Proof(SUBJECT))
    assert len(asked_proofs) == 2


def test_a_changed_prover_is_proved_again(
    empty: ProofMemory, asked_proofs: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It promises less of the metadata."""
    empty.failures(Proof(SUBJECT))
    monkeypatch.setattr(Proof, "_premises", lambda *_: [])
    assert read_again(empty).failures(Proof(SUBJECT)) != []
    assert len(asked_proofs) == 2


def test_another_release_of_z3_proves_again(empty: ProofMemory, asked_proofs: list[Proof]) -> None:
    empty.failures(Proof(SUBJECT))
    replace(read_again(empty), release="5.0").failures(Proof(SUBJECT))
    assert len(asked_proofs) == 2
    assert read_memory().release == z3.get_full_version()


@pytest.mark.parametrize("failure", [Failure("range", decided=False, detail="timeout")])
def test_what_is_not_proved_is_not_remembered(
    empty: ProofMemory, key_file: Path, monkeypatch: pytest.MonkeyPatch, failure: Failure
) -> None:
    """Neither a failure, which must be seen again, nor that Z3 gave up, nor that there is no witness."""
    assert empty.failures(Proof(SUBJECT, MUTATED)) != []
    assert not empty.is_refuted(Proof(SUBJECT))
    monkeypatch.setattr(Proof, "failures", lambda _: [failure])
    assert empty.failures(Proof(SUBJECT)) == [failure]
    assert not key_file.exists()


def test_a_run_remembers_the_committed_file_unless_proofs_are_wanted_anew(
    key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (ANEW, WRITTEN):
        monkeypatch.delenv(name, raising=False)
    memory = read_memory()
    assert memory.keys == set(FILE.read_text().split())
    assert len(memory.keys) > 1_000
    assert memory.key_file is None
    monkeypatch.setenv(ANEW, "1")
    monkeypatch.setenv(WRITTEN, str(key_file))
    assert read_memory().keys == set()
    assert read_memory().key_file == key_file
