"""The mutants of rules by name; the proof of the subject that each names must refute it."""

from collections.abc import Mapping

from mutants.rules import numbers, predicates, text, time
from mutants.rules.rule_mutant import RuleMutant

MUTANTS: Mapping[str, RuleMutant] = {
    **predicates.MUTANTS,
    **numbers.MUTANTS,
    **text.MUTANTS,
    **time.MUTANTS,
}
