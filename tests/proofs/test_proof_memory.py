"""A proof that is remembered is not asked again, unless something that its answer depends on has changed."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import proof_memory
import pytest
import z3
from proof_memory import ANEW, ROOT, SOURCES, ProofMemory, memory_of, source_files, sources_hash

from mutants.rules.table import MUTANTS
from pruning.rules.analysis.evaluation import Rule, RuleKey
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.solver.theory import Theory
from skipproof.proofs.prover import Failure, Proof
from skipproof.proofs.subjects.table import SUBJECTS

SUBJECT = SUBJECTS["comparison"]["> of floats"]
MUTANT = MUTANTS["> without NaN"]
MUTATED: Mapping[RuleKey, Rule] = {**RULES, MUTANT.breaks: MUTANT.rule}
NAME = "comparison: > of floats"


@pytest.fixture
def memory(tmp_path: Path) -> ProofMemory:
    """An empty memory."""
    return ProofMemory(tmp_path, "these versions", "these sources")


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


def test_a_proof_is_asked_once(memory: ProofMemory, asked_proofs: list[Proof]) -> None:
    assert [memory.failures(NAME, Proof(SUBJECT)) for _ in range(3)] == [[], [], []]
    assert len(asked_proofs) == 1


def test_a_refutation_is_asked_once_and_keeps_its_witness(
    memory: ProofMemory, asked_proofs: list[Proof]
) -> None:
    first, second = (memory.refutation(NAME, Proof(SUBJECT, MUTATED)) for _ in range(2))
    assert first is not None
    assert first == second
    assert len(asked_proofs) == 1


def test_a_failure_is_remembered_as_it_was(memory: ProofMemory, asked_proofs: list[Proof]) -> None:
    first, second = (memory.failures(NAME, Proof(SUBJECT, MUTATED)) for _ in range(2))
    assert first == second != []
    assert len(asked_proofs) == 1


def test_other_sources_with_the_same_questions_are_not_asked_again(
    memory: ProofMemory, asked_proofs: list[Proof]
) -> None:
    memory.failures(NAME, Proof(SUBJECT))
    assert replace(memory, sources="other sources").failures("another name", Proof(SUBJECT)) == []
    assert len(asked_proofs) == 1


def test_a_changed_rule_is_proved_again(memory: ProofMemory, asked_proofs: list[Proof]) -> None:
    """Its sources have changed, and so has its program."""
    memory.failures(NAME, Proof(SUBJECT))
    assert replace(memory, sources="other sources").failures(NAME, Proof(SUBJECT, MUTATED))
    assert len(asked_proofs) == 2


def test_a_changed_axiom_is_proved_again(
    memory: ProofMemory, asked_proofs: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.failures(NAME, Proof(SUBJECT))
    axioms = Theory.axioms
    monkeypatch.setattr(Theory, "axioms", lambda theory: [*axioms(theory), z3.Int("more") > 0])
    replace(memory, sources="other sources").failures(NAME, Proof(SUBJECT))
    assert len(asked_proofs) == 2


def test_a_changed_prover_is_proved_again(
    memory: ProofMemory, asked_proofs: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It promises less of the metadata."""
    memory.failures(NAME, Proof(SUBJECT))
    monkeypatch.setattr(Proof, "_premises", lambda *_: [])
    assert replace(memory, sources="other sources").failures(NAME, Proof(SUBJECT))
    assert len(asked_proofs) == 2


def test_another_release_of_z3_proves_again(memory: ProofMemory, asked_proofs: list[Proof]) -> None:
    memory.failures(NAME, Proof(SUBJECT))
    replace(memory, surroundings="other versions").failures(NAME, Proof(SUBJECT))
    assert len(asked_proofs) == 2
    assert z3.get_full_version() in proof_memory.surroundings()


def test_what_is_not_decided_is_asked_again(
    memory: ProofMemory, asked_proofs: list[Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    undecided = [Failure("range", decided=False, detail="timeout")]
    monkeypatch.setattr(Proof, "failures", lambda proof: asked_proofs.append(proof) or undecided)
    assert [memory.failures(NAME, Proof(SUBJECT)) for _ in range(2)] == [undecided, undecided]
    assert len(asked_proofs) == 2


def test_a_mutant_that_was_not_refuted_is_asked_again(memory: ProofMemory, asked_proofs: list[Proof]) -> None:
    assert [memory.refutation(NAME, Proof(SUBJECT)) for _ in range(2)] == [None, None]
    assert len(asked_proofs) == 2


def test_without_a_folder_nothing_is_remembered(asked_proofs: list[Proof]) -> None:
    forgetful = ProofMemory(None, "these versions", "these sources")
    assert [forgetful.failures(NAME, Proof(SUBJECT)) for _ in range(2)] == [[], []]
    assert len(asked_proofs) == 2


def test_the_memory_lies_in_the_cache_of_pytest_unless_proofs_are_wanted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = SimpleNamespace(cache=SimpleNamespace(mkdir=lambda name: tmp_path / name))
    monkeypatch.delenv(ANEW, raising=False)
    assert memory_of(config).folder == tmp_path / "skipproof-proofs"
    monkeypatch.setenv(ANEW, "1")
    assert memory_of(config).folder is None
    monkeypatch.delenv(ANEW)
    assert memory_of(SimpleNamespace()).folder is None  # type: ignore[arg-type]


@pytest.mark.parametrize("place", SOURCES)
def test_a_change_in_any_source_of_proofs_changes_the_key(place: str, tmp_path: Path) -> None:
    """A rule, an axiom, the prover, a subject, a mutant, or what one of them is made of."""
    for file in source_files():
        copied = tmp_path / file.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copied)
    before = sources_hash(tmp_path)
    assert before == sources_hash(ROOT)
    changed = tmp_path / place
    if changed.is_dir():
        changed = sorted(changed.rglob("*.py"))[-1]
    with changed.open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert sources_hash.__wrapped__(tmp_path) != before


def test_every_module_that_proofs_and_mutants_import_is_a_source_of_the_key() -> None:
    code = (
        "import sys, skipproof.proofs.prover, skipproof.proofs.subjects.table\n"
        "import skipproof.proofs.generic_mutants, mutants.rules.table, mutants.rules.builders\n"
        "print(*(module.__file__ for module in sys.modules.values() if getattr(module, '__file__', None)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    packages = {place.partition("/")[0] for place in SOURCES}
    imported = {Path(name) for name in done.stdout.split()}
    own = {path for path in imported if path.is_relative_to(ROOT)}
    own = {path for path in own if path.relative_to(ROOT).parts[0] in packages}
    assert len(own) > 50
    assert own <= set(source_files())
