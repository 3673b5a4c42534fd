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
    """The preimages that the rules of one proof ask for, and the axioms that the true rules' answers are."""

    __test__ = False
    solver: Solver
    requests: list[tuple[Expression, ValueSet]] = field(default_factory=list)

    def record_requests(self, rules: Mapping[RuleKey, Rule]) -> Mapping[RuleKey, Rule]:
        """Return the rules, made to record which preimages are asked for."""
        return {
            key: rule if rule.preimage is None else replace(rule, preimage=self._recorder(rule.preimage))
            for key, rule in rules.items()
        }

    def _recorder(self, preimage: Callable[..., Any]) -> Callable[..., Any]:
        def record(node: Expression, values: ValueSet) -> Any:
            self.requests.append((node, values))
            return preimage(node, values)

        return record

    def of(self, expression: Expression, meaning: Meaning) -> list[Any]:
        """Return the axioms about an expression; call it when the rules have asked for every preimage."""
        terms: list[Any] = []
        for node in walk(expression):
            if isinstance(node, Like | RLike | EndsWith | Contains):
                terms += self._sets(node, meaning)
        for node, values in self.requests:
            preimage = RULES[rule_key(node)].preimage
            answer = None if preimage is None else preimage(node, values)
            if answer is not None:
                operand, inside = answer
                value, argument = meaning.of(node), meaning.of(operand)
                holds = self.member(inside, argument, type_of(operand))
                terms.append(z3.Implies(self.member(values, value, type_of(node)), holds))
        return terms

    def _sets(self, node: Any, meaning: Meaning) -> list[Any]:
        rule = RULES[rule_key(node)]
        assert rule.outcomes is not None
        outcomes = rule.outcomes(Analysis(RULES), node)
        assert outcomes is not None
        outcome, operand = meaning.of(node), meaning.of(node.operand)
        taken = {Truths.TRUE: outcome.true, Truths.FALSE: outcome.false, Truths.NULL: outcome.null}
        return [
            z3.Implies(taken[truth], self.member(outcomes.of(truth), operand, type_of(node.operand)))
            for truth in taken
        ]

    def member(self, values: ValueSet, outcome: SymbolicValue, type_: Type) -> Any:
        """Return the term that holds if the value on the row is in the set."""
        place = Bounded(z3.BoolVal(True), Number(outcome.value, outcome.sign))
        inside = self.solver.meets(place, place, values.cuts, type_)
        return z3.If(outcome.null, values.null, z3.If(outcome.nan, values.nan, inside))
