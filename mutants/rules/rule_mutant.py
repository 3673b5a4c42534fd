"""The type of a mutant of one rule."""

from dataclasses import dataclass

from pruning.rules.analysis.evaluation import Rule, RuleKey


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A mistake in one rule, and the subject whose proof must see it."""

    breaks: RuleKey
    rule: Rule
    family: str
    subject: str
