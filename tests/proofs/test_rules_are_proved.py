"""PROOF-1: what each rule says of a block is true of each of its rows, for all blocks and rows."""

import pytest
from proof_memory import ProofMemory

from pruning.expressions import trees
from pruning.expressions.traversal import walk
from pruning.rules.analysis.evaluation import rule_key
from pruning.rules.compile.table import RULES
from skipproof.proofs.prover import Proof
from skipproof.proofs.subjects.table import SUBJECTS

CASES = [(family, name) for family, subjects in SUBJECTS.items() for name in subjects]


@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{family}: {name}" for family, name in CASES])
def test_the_rule_holds_for_all_blocks_and_rows(family: str, name: str, proof_memory: ProofMemory) -> None:
    """Its range encloses each row's value, its flags each row's truth, its narrowing each such row."""
    assert proof_memory.failures(Proof(SUBJECTS[family][name])) == []


def test_each_class_of_expression_and_each_function_has_a_rule_and_a_proof() -> None:
    classes = set(trees.Expression.__args__) - {trees.Call}
    proved = {
        rule_key(node) for subjects in SUBJECTS.values() for root in subjects.values() for node in walk(root)
    }
    assert classes | set(trees.Function) == set(RULES) == proved
