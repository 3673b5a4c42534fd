"""PROOF-2: the proofs can fail. Broken algebra and broken rules are refuted, each with a witness.

The faults of the algebra break every rule at once: no proof may survive all of them. The twins of
the rules are mistakes that public engines made (or nearly), one rule at a time.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
import twins_of_numbers
import twins_of_predicates
import twins_of_text
import twins_of_time
from faults import FAULTS
from proving import Proof
from subjects import SUBJECTS
from twin import Twin

from pruning.expressions.trees import Expression
from pruning.rules.analysis.evaluation import Rule
from pruning.rules.compile.table import RULES
from pruning.rules.program.builder import Builder

TWINS: Mapping[str, Twin] = {
    **twins_of_predicates.TWINS,
    **twins_of_numbers.TWINS,
    **twins_of_text.TWINS,
    **twins_of_time.TWINS,
}
# The modules of `pruning.rules.families` that are not named as the family of expressions is.
MODULES: Mapping[str, str] = {
    "cast": "casts",
    "fields": "time_fields",
    "membership": "conditions",
    "null_test": "conditions",
    "quantifiers": "conditions",
    "text": "text_functions",
    "time": "time_functions",
}
CASES = [(family, name) for family, subjects in SUBJECTS.items() for name in subjects]


@cache
def _refutes(fault: type[Builder], family: str, name: str) -> bool:
    witnesses = Proof(SUBJECTS[family][name], build=fault()).refuted(limit=1)
    return any("not decided" not in witness for witness in witnesses)


@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{family}: {name}" for family, name in CASES])
def test_no_proof_survives_every_fault_of_the_algebra(family: str, name: str) -> None:
    assert any(_refutes(fault, family, name) for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_the_algebra_is_refuted(fault: type[Builder]) -> None:
    assert _refutes(fault, *FAULTS[fault])


@pytest.mark.parametrize("name", TWINS)
def test_the_broken_twin_of_a_rule_is_refuted_with_a_witness(name: str) -> None:
    twin = TWINS[name]
    subject: Expression = SUBJECTS[twin.family][twin.subject]
    assert not Proof(subject).refuted(limit=1), "the twin's subject must hold under the true rule"
    witnesses = Proof(subject, {**RULES, twin.breaks: twin.rule}).refuted(limit=1)
    assert witnesses
    assert "not decided" not in witnesses[0]


def test_each_rule_has_a_broken_twin() -> None:
    assert {twin.breaks for twin in TWINS.values()} == set(RULES)


def test_the_documented_table_of_rules_is_complete() -> None:
    """Each rule's module, the number of its proofs, every twin by name, its properties and tightness."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "properties.md").read_text(encoding="utf-8")
    claims, _, table = text.partition("## Rules")
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    documented = {cells[0].strip(" `"): cells for cells in rows}
    assert {family: int(cells[2]) for family, cells in documented.items()} == {
        family: len(subjects) for family, subjects in SUBJECTS.items()
    }
    assert {MODULES.get(family, family) for family in documented} == set(map(_module, RULES.values()))
    named = {name.strip().replace("`", "") for cells in rows for name in cells[3].split(";")}
    assert named == set(TWINS)
    for cells in rows:
        properties = [name.strip() for name in cells[4].split(",")]
        assert properties
        assert all(f"| {name} |" in claims for name in properties), properties
        assert re.fullmatch(r" \d+\.\d\d % / \d+\.\d\d % | not in a set ", cells[5]), cells[5]


def _module(rule: Rule) -> str:
    """Return the module of a rule; the rule of unknown expressions counts as one of leaves."""
    parts = (rule.range, rule.may, rule.assume, rule.constrain, rule.outcomes, rule.may_lie)
    modules = {part.__module__.rpartition(".")[2] for part in parts if part is not None}
    assert len(modules) == 1
    return modules.pop().replace("evaluation", "leaves")
