"""Evaluates a predicate over what is known of a block, by emitting a program.

Every node of a predicate has one `Rule` in `rules.table`. An `Analysis` asks the rules three
questions, each remembered by (node, environment):

- `range(node, environment)`: where do the values of this expression lie?
- `may(node, environment, truth)`: can this boolean be TRUE (FALSE, NULL) on some row?
- `assume(node, environment, truths)`: what is known of the columns on the rows where this boolean
  takes one of these truth values?

Each question is asked only when its answer is needed, and answers about TRUE never depend on a
narrowing that holds for FALSE only: the three truth values are three questions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pruning.expressions.trees import Column, Expression, type_of
from pruning.rules import environment as environments
from pruning.rules import ranges
from pruning.rules.environment import Environment
from pruning.rules.program import Aspect, Builder, Flag, Program
from pruning.rules.ranges import Range
from pruning.rules.truths import Truths


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is known of one class of nodes. One of `range` and `may` is there; each gives the other.

    Attributes:
        range: The range of the node's values.
        may: Whether a boolean node may take the one truth value given.
        assume: The environment narrowed to rows where the boolean takes one of the truth values
            given, or a looser one; None where nothing is known to narrow.
    """

    range: "Callable[[Analysis, Expression, Environment], Range] | None" = None
    may: "Callable[[Analysis, Expression, Environment, Truths], Flag] | None" = None
    assume: "Callable[[Analysis, Expression, Environment, Truths], Environment] | None" = None


@dataclass(slots=True)
class Analysis:
    """One evaluation of one predicate. `rules` has a rule for each class of node."""

    rules: Mapping[type, Rule]
    build: Builder = field(default_factory=Builder)
    _ranges: dict[tuple[int, Environment], Range] = field(default_factory=dict)
    _flags: dict[tuple[int, Environment, Truths], Flag] = field(default_factory=dict)
    _assumed: dict[tuple[int, Environment, Truths], Environment] = field(default_factory=dict)
    _alive: dict[int, Expression] = field(default_factory=dict)

    def range(self, node: Expression, environment: Environment) -> Range:
        """Where the values of `node` lie on the rows of the environment."""
        key = (self._identity(node), environment)
        if key not in self._ranges:
            rule = self.rules[type(node)]
            if rule.range is not None:
                self._ranges[key] = rule.range(self, node, environment)
            else:
                self._ranges[key] = ranges.of_truths(
                    self.build, *(self.may(node, environment, truth) for truth in Truths.ANY.members())
                )
        return self._ranges[key]

    def may(self, node: Expression, environment: Environment, truth: Truths) -> Flag:
        """Whether the boolean `node` may take the truth value `truth` on a row of the environment."""
        key = (self._identity(node), environment, truth)
        if key not in self._flags:
            rule = self.rules[type(node)]
            if rule.may is not None:
                self._flags[key] = rule.may(self, node, environment, truth)
            else:
                self._flags[key] = ranges.may_be(self.build, self.range(node, environment), truth)
        return self._flags[key]

    def may_any(self, node: Expression, environment: Environment, truths: Truths) -> Flag:
        """Whether the boolean `node` may take one of several truth values."""
        return self.build.or_(*(self.may(node, environment, truth) for truth in truths.members()))

    def assume(self, node: Expression, environment: Environment, truths: Truths) -> Environment:
        """The environment narrowed to rows where the boolean `node` takes one of `truths`."""
        if truths in (Truths.ANY, Truths(0)):
            return environment
        key = (self._identity(node), environment, truths)
        if key not in self._assumed:
            rule = self.rules[type(node)]
            self._assumed[key] = (
                environment if rule.assume is None else rule.assume(self, node, environment, truths)
            )
        return self._assumed[key]

    def feasible(self, environment: Environment) -> Flag:
        """Whether a row may be in the environment."""
        return environments.feasible(self.build, environment)

    def union(self, alternatives: list[Environment], types: Mapping[str, Column]) -> Environment:
        """The rows of any of the environments; `types` names the columns they may narrow."""
        return environments.union(self.build, alternatives, lambda name: self.in_block(types[name]))

    def in_block(self, column: Column) -> Range:
        """What the block's metadata says of a column."""
        build, name, type_ = self.build, column.name, column.type
        if not type_.known:
            return ranges.anything(build, type_)
        nan = build.flag_input(Aspect.MAY_NAN, name, type_) if type_.floating else build.flag(False)
        return Range(
            lower=build.bound_input(Aspect.LOWER, name, type_),
            upper=build.bound_input(Aspect.UPPER, name, type_),
            may_null=build.flag_input(Aspect.MAY_NULL, name, type_),
            may_nan=nan,
            may_value=build.flag_input(Aspect.MAY_VALUE, name, type_),
        )

    def _identity(self, node: Expression) -> int:
        self._alive[id(node)] = node  # an id is only good while its node lives
        return id(node)


def analyse(predicate: Expression, rules: Mapping[type, Rule]) -> Program:
    """The program that tells which truth values a predicate may take in a block.

    Its three outputs are flags: may be TRUE, may be FALSE, may be NULL; all false in a block
    without rows.
    """
    analysis = Analysis(rules)
    build, everywhere = analysis.build, Environment()
    has_rows = build.flag_input(Aspect.HAS_ROWS)
    flags = [
        build.and_(has_rows, analysis.may(predicate, everywhere, truth)) for truth in Truths.ANY.members()
    ]
    return build.program(*flags)


def unknown_rule() -> Rule:
    """The rule of what no rule knows: any value, and nothing to narrow."""
    return Rule(range=lambda analysis, node, _: ranges.anything(analysis.build, type_of(node)))
