"""Axioms about text and time that a proof assumes of the true rules, and that properties test.

SETS: a text predicate that takes a truth value has its operand in the set that the rule gives for it.
PREIMAGE: where a function's value is in a set, its operand's is in the preimage that the rule gives.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from oracles.symbolic.evaluation import Meaning, SymbolicValue
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Contains, EndsWith, Expression, Like, RLike, type_of
from pruning.expressions.types import Type
from pruning.rules.analysis.evaluation import Analysis, Rule, RuleKey, rule_key
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.solver.interpreter import Solver
from pruning.rules.interpreters.solver.numbers import Bounded, Number
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.truths import Truths


@dataclass(slots=True)
class TestedAxioms:
    """What the rules of one proof ask preimages of, and what the true rules answer."""

    __test__ = False
    solver: Solver
    asked: list[tuple[Expression, ValueSet]] = field(default_factory=list)

    def recording(self, rules: Mapping[RuleKey, Rule]) -> Mapping[RuleKey, Rule]:
        """The rules, but remembering which preimages are asked for."""
        return {
            key: rule if rule.preimage is None else replace(rule, preimage=self._recorded(rule.preimage))
            for key, rule in rules.items()
        }

    def _recorded(self, preimage: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(node: Expression, values: ValueSet) -> Any:
            self.asked.append((node, values))
            return preimage(node, values)

        return recorded

    def of(self, expression: Expression, meaning: Meaning) -> list[Any]:
        """The axioms that concern an expression, when all has been asked."""
        terms: list[Any] = []
        for node in walk(expression):
            if isinstance(node, Like | RLike | EndsWith | Contains):
                terms += self._sets(node, meaning)
        for node, values in self.asked:
            preimage = RULES[rule_key(node)].preimage
            found = None if preimage is None else preimage(node, values)
            if found is not None:
                operand, inside = found
                value, argument = meaning.of(node), meaning.of(operand)
                holds = self.member(inside, argument, type_of(operand))
                terms.append(z3.Implies(self.member(values, value, type_of(node)), holds))
        return terms

    def _sets(self, node: Any, meaning: Meaning) -> list[Any]:
        rule = RULES[rule_key(node)]
        found = rule.outcomes(Analysis(RULES), node)
        assert found is not None
        outcome, operand = meaning.of(node), meaning.of(node.operand)
        taken = {Truths.TRUE: outcome.true, Truths.FALSE: outcome.false, Truths.NULL: outcome.null}
        return [
            z3.Implies(taken[truth], self.member(found.of(truth), operand, type_of(node.operand)))
            for truth in taken
        ]

    def member(self, values: ValueSet, outcome: SymbolicValue, type_: Type) -> Any:
        """Whether the value on the row is in the set."""
        place = Bounded(z3.BoolVal(True), Number(outcome.value, outcome.sign))
        inside = self.solver.meets(place, place, values.cuts, type_)
        return z3.If(outcome.null, values.null, z3.If(outcome.nan, values.nan, inside))
