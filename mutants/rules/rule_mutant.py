"""The type of a mutant of one rule, and tables of such mutants."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pruning.rules.analysis.evaluation import Rule, RuleKey


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A mistake in one rule, and the subject whose proof must see it."""

    breaks: RuleKey
    rule: Rule
    family: str
    subject: str


# By the name of a mutant: the rule that it breaks, the rule that replaces it, and the subject.
MutantRows: TypeAlias = Mapping[str, tuple[RuleKey, Rule, str]]


def mutants_of_family(family: str, rows: MutantRows) -> dict[str, RuleMutant]:
    """Return the mutants of a table by their names."""
    return {name: RuleMutant(breaks, rule, family, subject) for name, (breaks, rule, subject) in rows.items()}
