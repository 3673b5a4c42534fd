"""Evaluates a predicate over the metadata of a block (abstract interpretation), by emitting a program.

An abstract interpretation evaluates an expression over sets of values instead of values: here over the
range that the values of an expression have in one block, and over the truth values that a predicate can
take there. Every node of a predicate has one `Rule` in `rules.compile.table`. An `Analysis` puts these
questions to the rules, and remembers each answer by (node, environment):

- `outcomes(node)`: on which one expression does this boolean depend, and on which of its values is it
  TRUE, FALSE, NULL? If there is such a *subject*, its range answers all the other questions.
- `range(node, environment)`: where do the values of this expression lie?
- `may(node, environment, truth)`: can this boolean be TRUE (FALSE, NULL) on some row?
- `assume(node, environment, truths)`: which ranges do expressions have on the rows where this boolean
  takes one of these truth values?
- `constrain(node, environment, narrowed)`: which ranges do expressions have on the rows where this
  expression lies in a narrower range?

Answers are computed only when they are needed. An answer about TRUE never depends on a narrowing that
holds for FALSE only: the three truth values are three questions.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import And, Call, Column, Expression, Function, Literal, Or, type_of
from pruning.expressions.types import BOOLEAN
from pruning.rules.analysis import environment as environments
from pruning.rules.analysis import ranges
from pruning.rules.analysis.correlation import sharing_columns
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Flag
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import FULL
from pruning.rules.sets.outcomes import Outcomes, ValueSet, of_boolean
from pruning.rules.sets.regions import CoordinatePair
from pruning.rules.sets.truths import Truths


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one class of nodes or of one function; it has at least one of `range` and `may`.

    Attributes:
        range: Returns the range of the node's values.
        may: Returns the flag that a boolean node may take a truth value.
        assume: Returns the environment narrowed to rows where the boolean takes one of some truth values,
            or a looser one; None if the rule narrows nothing.
        constrain: Returns the environment narrowed to rows where the node lies in a range, or a looser
            one; None if that does not narrow its operands.
        outcomes: Returns the boolean as a predicate on one expression; None if it depends on several.
            If it depends on one, `may` and `assume` are not called.
        may_lie: Returns the flag that a value of the node may be in a set; None if its range decides.
        preimage: Returns the one operand that determines the node's value, and the operand's values for
            which the node's value is in a set (the preimage of the set), or more; None if not known.
    """

    range: "Callable[[Analysis, Expression, Environment], Range] | None" = None
    may: "Callable[[Analysis, Expression, Environment, Truths], Flag] | None" = None
    assume: "Callable[[Analysis, Expression, Environment, Truths], Environment] | None" = None
    constrain: "Callable[[Analysis, Expression, Environment, Range], Environment] | None" = None
    outcomes: "Callable[[Analysis, Expression], Outcomes | None] | None" = None
    may_lie: "Callable[[Analysis, Expression, Environment, ValueSet], Flag] | None" = None
    preimage: "Callable[[Expression, ValueSet], tuple[Expression, ValueSet] | None] | None" = None


RuleKey: TypeAlias = type | Function


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraMetadata:
    """The facts that block metadata may hold beside bounds and counts.

    Attributes:
        indexed: The columns for which `Aspect.MAY_HOLD` is available.
        points: The pairs of columns for which `Aspect.MAY_BE_INSIDE` is available.
    """

    indexed: frozenset[str] = frozenset()
    points: tuple[CoordinatePair, ...] = ()


BOUNDS_ONLY = ExtraMetadata()


def rule_key(node: Expression) -> RuleKey:
    """Return the key of a node in a table of rules: its class, or the function that it calls."""
    return node.function if isinstance(node, Call) else type(node)


@dataclass(slots=True)
class Analysis:
    """The evaluation of one predicate. `rules` has a rule for each class of node and each function.

    `beyond` is the metadata that blocks have beside bounds and counts.
    """

    rules: Mapping[RuleKey, Rule]
    build: Builder = field(default_factory=Builder)
    beyond: ExtraMetadata = BOUNDS_ONLY
    _ranges: dict[tuple[int, Environment], Range] = field(default_factory=dict)
    _flags: dict[tuple[int, Environment, Truths], Flag] = field(default_factory=dict)
    _assumed: dict[tuple[int, Environment, Truths], Environment] = field(default_factory=dict)
    _lying: dict[tuple[int, Environment, ValueSet], Flag] = field(default_factory=dict)
    _outcomes: dict[int, Outcomes] = field(default_factory=dict)
    _subjects: list[Expression] = field(default_factory=list)
    _equal: dict[Expression, int] = field(default_factory=dict)
    _ordinals: dict[int, int] = field(default_factory=dict)
    _groups: dict[int, list[list[Expression]]] = field(default_factory=dict)
    _alive: dict[int, Expression] = field(default_factory=dict)

    def range(self, node: Expression, environment: Environment) -> Range:
        """Return bounds of the values of `node` on the rows of the environment."""
        return replace(self.values(node, environment), cuts=FULL)

    def values(self, node: Expression, environment: Environment) -> Range:
        """Return the range with the set of values where one is known, such as the constants of a CASE."""
        key = (self._identity(node), environment)
        if key not in self._ranges:
            narrowed = environment.get(self.ordinal(node))
            if narrowed is not None and isinstance(node, Column):
                self._ranges[key] = narrowed
            else:
                own = self._own_range(node, environment)
                self._ranges[key] = (
                    own if narrowed is None else ranges.intersection(self.build, own, narrowed)
                )
        return self._ranges[key]

    def _own_range(self, node: Expression, environment: Environment) -> Range:
        """Return the range that the node's rule gives, before narrowing."""
        rule = self.rules[rule_key(node)]
        if rule.range is not None:
            return rule.range(self, node, environment)
        flags = (self.may(node, environment, truth) for truth in Truths.ANY.members())
        return ranges.of_truths(self.build, *flags)

    def outcomes(self, node: Expression) -> Outcomes:
        """Return the boolean `node` as a predicate on one expression; on itself if it depends on several."""
        key = self._identity(node)
        if key not in self._outcomes:
            rule = self.rules[rule_key(node)]
            outcomes = None if rule.outcomes is None else rule.outcomes(self, node)
            self._outcomes[key] = of_boolean(node) if outcomes is None else self._pull_back(outcomes)
        return self._outcomes[key]

    def _pull_back(self, outcomes: Outcomes) -> Outcomes:
        """Return the same predicate on the operand of its subject, as far down as preimages are known.

        Claim     A row that gives the predicate a truth value has its value of the new subject in that set.
        Premises  `preimage` misses no value of the operand on which the function's is in the set.
        Proof     The function's value on the row is in the old set, so the operand's is in its preimage.
        """
        while outcomes.subject is not None:
            preimage = self.rules[rule_key(outcomes.subject)].preimage
            if preimage is None:
                break
            sets = [
                preimage(outcomes.subject, values)
                for values in (outcomes.true, outcomes.false, outcomes.null)
            ]
            preimages = [pair for pair in sets if pair is not None]
            if len(preimages) < len(sets):
                break
            (operand, true), (_, false), (_, null) = preimages
            outcomes = Outcomes(operand, true=true, false=false, null=null)
        return outcomes

    def may(self, node: Expression, environment: Environment, truth: Truths) -> Flag:
        """Return the flag that the boolean `node` may take a truth value on a row of the environment.

        Claim     If a row gives the predicate this truth value, the flag holds.
        Premises  `outcomes` misses no value of the subject, the subject's range no row.
        Proof     The row's value of the subject lies in the range and in the set for this truth value.
        """
        key = (self._identity(node), environment, truth)
        if key not in self._flags:
            self._flags[key] = self._may(node, environment, truth)
        return self._flags[key]

    def _may(self, node: Expression, environment: Environment, truth: Truths) -> Flag:
        """Compute `may`, which remembers it."""
        outcomes, rule = self.outcomes(node), self.rules[rule_key(node)]
        if outcomes.subject is node:
            if rule.may is not None:
                return rule.may(self, node, environment, truth)
            return ranges.may_be(self.build, self.range(node, environment), truth)
        wanted = outcomes.of(truth)
        if outcomes.subject is None or wanted.empty:
            return self.build.flag(not wanted.empty)
        if type_of(outcomes.subject) == BOOLEAN:
            return self.may_any(outcomes.subject, environment, _truths_in(wanted))
        return self.may_lie(outcomes.subject, environment, wanted)

    def may_lie(self, node: Expression, environment: Environment, values: ValueSet) -> Flag:
        """Return the flag that a row of the environment may have a value of `node` in the set."""
        key = (self.ordinal(node), environment, values)
        if key not in self._lying:
            lies = self.rules[rule_key(node)].may_lie
            if lies is None:
                own_range = self.values(node, environment)
                lying = ranges.may_lie(self.build, own_range, values)
                self._lying[key] = self.build.and_(lying, *self._membership_flags(node, own_range, values))
            else:
                self._lying[key] = lies(self, node, environment, values)
        return self._lying[key]

    def _membership_flags(self, node: Expression, own_range: Range, values: ValueSet) -> Iterator[Flag]:
        """Yield, for an indexed column, the flag that the block may hold one of the values.

        The flag also holds if the row may be a NULL or a NaN of the set.
        """
        if isinstance(node, Column) and node.name in self.beyond.indexed and not values.cuts.full:
            build, sought = self.build, value_sets.intersection(own_range.cuts, values.cuts)
            yield build.or_(
                build.flag_input(Aspect.MAY_HOLD, node.name, node.type, sought),
                own_range.may_null if values.null else build.flag(False),
                own_range.may_nan if values.nan else build.flag(False),
            )

    def may_any(self, node: Expression, environment: Environment, truths: Truths) -> Flag:
        """Return the flag that the boolean `node` may take one of several truth values."""
        return self.build.or_(*(self.may(node, environment, truth) for truth in truths.members()))

    def assume(self, node: Expression, environment: Environment, truths: Truths) -> Environment:
        """Return the environment narrowed to rows where the boolean `node` takes one of `truths`."""
        if truths in (Truths.ANY, Truths(0)):
            return environment
        key = (self._identity(node), environment, truths)
        if key not in self._assumed:
            self._assumed[key] = self._assume(node, environment, truths)
        return self._assumed[key]

    def _assume(self, node: Expression, environment: Environment, truths: Truths) -> Environment:
        """Compute `assume`, which remembers it."""
        outcomes, rule = self.outcomes(node), self.rules[rule_key(node)]
        if outcomes.subject is node:
            return environment if rule.assume is None else rule.assume(self, node, environment, truths)
        if outcomes.subject is None:
            return environment
        wanted = outcomes.of(truths)
        if type_of(outcomes.subject) == BOOLEAN:
            return self.assume(outcomes.subject, environment, _truths_in(wanted))
        narrowed = ranges.inside(self.build, self.values(outcomes.subject, environment), wanted)
        return self.constrain(outcomes.subject, environment, narrowed)

    def constrain(self, node: Expression, environment: Environment, narrowed: Range) -> Environment:
        """Return the environment narrowed to rows where `node` lies in a range inside its own one."""
        if isinstance(node, Literal):
            return environment
        rule = self.rules[rule_key(node)]
        if rule.constrain is not None:
            # Narrow the operands before the node itself, so that they are evaluated in fewer environments.
            environment = rule.constrain(self, node, environment, narrowed)
        return environment.narrow(self.ordinal(node), narrowed)

    def operand_groups(self, node: Expression) -> list[list[Expression]]:
        """Return the operands of AND or OR in groups that share no column, those on one expression merged."""
        assert isinstance(node, And | Or)
        key = self._identity(node)
        if key not in self._groups:
            groups = sharing_columns(node.operands)
            self._groups[key] = [self._merge_operands(type(node), group) for group in groups]
        return self._groups[key]

    def _merge_operands(self, connective: type[And | Or], operands: list[Expression]) -> list[Expression]:
        """Return the operands, those on one expression joined; predicates on columns come first."""
        by_subject: dict[int, list[Expression]] = {}
        others: list[Expression] = []
        for operand in operands:
            subject = self.outcomes(operand).subject
            if subject is None or subject is operand:
                others.append(operand)
            else:
                by_subject.setdefault(self.ordinal(subject), []).append(operand)
        merged = [part[0] if len(part) == 1 else connective(tuple(part)) for part in by_subject.values()]
        on_columns = [part for part in merged if isinstance(self.outcomes(part).subject, Column)]
        return on_columns + [part for part in merged if part not in on_columns] + others

    def feasible(self, environment: Environment) -> Flag:
        """Return the flag that a row may be in the environment."""
        return environments.may_have_rows(self.build, environment)

    def union(self, alternatives: list[Environment]) -> Environment:
        """Return an environment of the rows of any of the environments."""
        return environments.union(self.build, alternatives, self._elsewhere)

    def _elsewhere(self, subject: int) -> Range | None:
        """Return the range of a column by the block's metadata; None of any other expression."""
        node = self._subjects[subject]
        return self.metadata_range(node) if isinstance(node, Column) else None

    def narrowed_ranges(self, environment: Environment) -> list[tuple[Expression, Range]]:
        """Return the expressions that the environment narrows, with their ranges there."""
        return [(self._subjects[subject], range_) for subject, range_ in environment.narrowed]

    def metadata_range(self, column: Column) -> Range:
        """Return the range of a column that the block's metadata gives."""
        build, name, type_ = self.build, column.name, column.type
        if not type_.has_bounds:
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
        """Return a key for a node, and keep the node alive so that the key stays valid."""
        self._alive[id(node)] = node  # an id may be reused once its node is freed
        return id(node)

    def ordinal(self, node: Expression) -> int:
        """Return the number of an expression; equal repeatable ones have the same number."""
        key = self._identity(node)
        if key not in self._ordinals:
            ordinal = self._equal.get(node) if is_repeatable(node) else None
            if ordinal is None:
                ordinal = len(self._subjects)
                self._subjects.append(node)
                self._equal[node] = ordinal
            self._ordinals[key] = ordinal
        return self._ordinals[key]


def _truths_in(values: ValueSet) -> Truths:
    """Return the truth values that a set of booleans holds."""
    truths = Truths.NULL if values.null else Truths(0)
    for truth, value in ((Truths.TRUE, True), (Truths.FALSE, False)):
        if values.cuts.holds(value):
            truths |= truth
    return truths


def unknown_rule() -> Rule:
    """Return the rule of expressions that no rule knows: any value, and nothing to narrow."""
    return Rule(range=lambda analysis, node, _: ranges.anything(analysis.build, type_of(node)))
