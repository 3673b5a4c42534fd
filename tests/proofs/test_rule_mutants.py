"""PROOF-2: the proofs can fail. Mutants of the algebra and of rules are refuted, each with a witness.

The generic mutants break every rule at once: no proof may survive all of them. The mutants of rules are
mistakes that public engines made (or nearly), one rule at a time.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from proof_memory import ProofMemory
from refuting_mutants import LISTED_EFFORT, UNLISTED_EFFORT, chosen_mutant, is_refuted_with, refuting_mutants

from mutants.rules.table import MUTANTS
from pruning.rules.compile.table import RULES
from skipproof.proofs.catalogue import family_of
from skipproof.proofs.generic_mutants import GENERIC_MUTANTS
from skipproof.proofs.prover import Proof
from skipproof.proofs.subjects.table import SUBJECTS

CASES = [(family, name) for family, subjects in SUBJECTS.items() for name in subjects]
GENERIC: Mapping[str, type] = {mutant.__name__: mutant for mutant in GENERIC_MUTANTS}
# A proof that must refute each generic mutant.
REFUTING = {
    "NothingPossible": ("leaves", "NULL"),
    "EitherForBoth": ("boolean", "OR"),
    "NullForgotten": ("null_test", "IS NULL"),
    "NanForgotten": ("comparison", "< of floats"),
    "TouchingIsApart": ("comparison", "= of columns"),
    "OrderReversed": ("comparison", "< of columns"),
    "JoinsInwards": ("conditional", "IF"),
    "UnknownIsKnown": ("arithmetic", "bigint +, TRY"),
    "SetsMissed": ("membership", "IN"),
}


def is_refuted(memory: ProofMemory, mutant: str, family: str, name: str) -> bool:
    """Tell whether a proof has a witness against a generic mutant."""
    proof = Proof(SUBJECTS[family][name], build=GENERIC[mutant]())
    return memory.is_refuted(proof, effort=LISTED_EFFORT)


@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{family}: {name}" for family, name in CASES])
def test_each_proof_refutes_a_generic_mutant(
    family: str, name: str, deep: bool, proof_memory: ProofMemory
) -> None:
    """The default run takes one of those that the table lists, a deep run all nine."""
    if not deep:
        assert is_refuted(proof_memory, chosen_mutant(family, name), family, name)
        return
    listed = refuting_mutants()[family, name]
    assert listed
    for mutant, build in GENERIC.items():
        effort = LISTED_EFFORT if mutant in listed else UNLISTED_EFFORT
        refuted = is_refuted_with(SUBJECTS[family][name], build, effort)
        assert refuted is (mutant in listed), f"{mutant}: write the table of mutants anew"


def test_the_table_lists_each_proof_and_a_mutant_that_it_refutes() -> None:
    table = refuting_mutants()
    assert list(table) == CASES
    assert all(table.values())
    assert {mutant for listed in table.values() for mutant in listed} == set(GENERIC)


def test_the_default_run_chooses_each_generic_mutant_for_some_proof() -> None:
    """Otherwise the choice might not depend on the subject."""
    assert {chosen_mutant(family, name) for family, name in CASES} == set(GENERIC)


@pytest.mark.parametrize("mutant", GENERIC)
def test_each_generic_mutant_is_refuted(mutant: str, proof_memory: ProofMemory) -> None:
    assert is_refuted(proof_memory, mutant, *REFUTING[mutant])


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_of_a_rule_is_refuted_with_a_witness(name: str, proof_memory: ProofMemory) -> None:
    mutant = MUTANTS[name]
    case = mutant.family, mutant.subject
    assert case in CASES, "PROOF-1 shows that the mutant's subject holds under the true rule"
    subject = SUBJECTS[mutant.family][mutant.subject]
    proof = Proof(subject, {**RULES, mutant.breaks: mutant.rule})
    assert proof_memory.is_refuted(proof)


def test_each_rule_has_a_mutant() -> None:
    assert {mutant.breaks for mutant in MUTANTS.values()} == set(RULES)


def test_the_documented_table_of_rules_is_complete() -> None:
    """Each rule's family, the number of its proofs, every mutant by name, its properties and tightness."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "properties.md").read_text(encoding="utf-8")
    claims, _, table = text.partition("## Rules")
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    documented = {cells[0].strip(" `"): cells for cells in rows}
    assert {family: int(cells[2]) for family, cells in documented.items()} == {
        family: len(subjects) for family, subjects in SUBJECTS.items()
    }
    assert set(documented) == set(map(family_of, RULES))
    named = {name.strip().replace("`", "") for cells in rows for name in cells[3].split(";")}
    assert named == set(MUTANTS)
    for cells in rows:
        properties = [name.strip() for name in cells[4].split(",")]
        assert properties
        assert all(f"| {name} |" in claims for name in properties), properties
        assert re.fullmatch(r" \d+\.\d\d % / \d+\.\d\d % | not in a set ", cells[5]), cells[5]
