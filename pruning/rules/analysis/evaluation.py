"""Evaluates a predicate over what is known of a block, by emitting a program.

Every node of a predicate has one `Rule` in `rules.compile.table`. An `Analysis` asks the rules questions,
each remembered by (node, environment):

- `outcomes(node)`: of which one expression does this boolean speak, and on which of its values is it
  TRUE, FALSE, NULL? Where there is such a *subject*, the subject's range answers all else.
- `range(node, environment)`: where do the values of this expression lie?
- `may(node, environment, truth)`: can this boolean be TRUE (FALSE, NULL) on some row?
- `assume(node, environment, truths)`: what is known of other expressions on the rows where this
  boolean takes one of these truth values?
- `constrain(node, environment, narrowed)`: what is known of them on the rows where this expression
  lies in a narrower range?

Each question is asked only when its answer is needed, and answers about TRUE never depend on a
narrowing that holds for FALSE only: the three truth values are three questions.
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
    """What is known of one class of nodes, or one function. One of `range` and `may` is there.

    Attributes:
        range: The range of the node's values.
        may: Whether a boolean node may take the one truth value given.
        assume: The environment narrowed to rows where the boolean takes one of the truth values
            given, or a looser one; None where nothing is known to narrow.
        constrain: The environment narrowed to rows where the node lies in the range given, or a looser
            one; None where that says nothing of its operands.
        outcomes: The boolean as a predicate on one expression; None where it is on several. Where
            it is on one, `may` and `assume` are not asked.
        may_lie: Whether a value of the node may be in a set; None where its range tells.
        preimage: The one operand that alone decides the node's value, and the values of it on which
            the node's is in a set, or more of them; None where that is not known.
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
class Beyond:
    """What block metadata may know beside bounds and counts.

    Attributes:
        indexed: The columns of which `Aspect.MAY_HOLD` may be asked.
        points: The pairs of columns of which `Aspect.MAY_BE_INSIDE` may be asked.
    """

    indexed: frozenset[str] = frozenset()
    points: tuple[CoordinatePair, ...] = ()


BOUNDS_ALONE = Beyond()


def rule_key(node: Expression) -> RuleKey:
    """What a table of rules knows a node by: its class, or the function that it calls."""
    return node.function if isinstance(node, Call) else type(node)


@dataclass(slots=True)
class Analysis:
    """One evaluation of one predicate. `rules` has a rule for each class of node, each function.

    `beyond` is what may be asked of blocks beside bounds and counts.
    """

    rules: Mapping[RuleKey, Rule]
    build: Builder = field(default_factory=Builder)
    beyond: Beyond = BOUNDS_ALONE
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
        """Between which bounds the values of `node` lie on the rows of the environment."""
        return replace(self.values(node, environment), cuts=FULL)

    def values(self, node: Expression, environment: Environment) -> Range:
        """The same, with the set of values where one is known: constants that CASE chooses from, say."""
        key = (self._identity(node), environment)
        if key not in self._ranges:
            narrowed = environment.get(self.ordinal(node))
            if narrowed is not None and isinstance(node, Column):
                self._ranges[key] = narrowed
            else:
                own = self._own_range(node, environment)
                self._ranges[key] = own if narrowed is None else ranges.both(self.build, own, narrowed)
        return self._ranges[key]

    def _own_range(self, node: Expression, environment: Environment) -> Range:
        rule = self.rules[rule_key(node)]
        if rule.range is not None:
            return rule.range(self, node, environment)
        flags = (self.may(node, environment, truth) for truth in Truths.ANY.members())
        return ranges.of_truths(self.build, *flags)

    def outcomes(self, node: Expression) -> Outcomes:
        """The boolean `node` as a predicate on one expression; on itself where it is on several."""
        key = self._identity(node)
        if key not in self._outcomes:
            rule = self.rules[rule_key(node)]
            found = None if rule.outcomes is None else rule.outcomes(self, node)
            self._outcomes[key] = of_boolean(node) if found is None else self._pulled_back(found)
        return self._outcomes[key]

    def _pulled_back(self, found: Outcomes) -> Outcomes:
        """The same predicate on what its subject is a function of, as far down as that is known.

        Claim     A row that gives the predicate a truth value has its value of the new subject in that set.
        Premises  `preimage` misses no value of the operand on which the function's is in the set.
        Proof     The function's value on the row is in the old set, so the operand's is in its preimage.
        """
        while found.subject is not None:
            preimage = self.rules[rule_key(found.subject)].preimage
            if preimage is None:
                break
            sets = [preimage(found.subject, values) for values in (found.true, found.false, found.null)]
            known = [pair for pair in sets if pair is not None]
            if len(known) < len(sets):
                break
            (operand, true), (_, false), (_, null) = known
            found = Outcomes(operand, true=true, false=false, null=null)
        return found

    def may(self, node: Expression, environment: Environment, truth: Truths) -> Flag:
        """Whether the boolean `node` may take the truth value `truth` on a row of the environment.

        Claim     If a row gives the predicate this truth value, the flag holds.
        Premises  `outcomes` misses no value of the subject, the subject's range no row.
        Proof     The row's value of the subject lies in the range and in the set for this truth value.
        """
        key = (self._identity(node), environment, truth)
        if key not in self._flags:
            self._flags[key] = self._may(node, environment, truth)
        return self._flags[key]

    def _may(self, node: Expression, environment: Environment, truth: Truths) -> Flag:
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
        """Whether a row of the environment may have a value of `node` in the set."""
        key = (self.ordinal(node), environment, values)
        if key not in self._lying:
            lies = self.rules[rule_key(node)].may_lie
            if lies is None:
                known = self.values(node, environment)
                lying = ranges.may_lie(self.build, known, values)
                self._lying[key] = self.build.and_(lying, *self._held(node, known, values))
            else:
                self._lying[key] = lies(self, node, environment, values)
        return self._lying[key]

    def _held(self, node: Expression, known: Range, values: ValueSet) -> Iterator[Flag]:
        """Whether the block may hold one of the values, or the row may be their NULL or NaN."""
        if isinstance(node, Column) and node.name in self.beyond.indexed and not values.cuts.full:
            build, asked = self.build, value_sets.intersection(known.cuts, values.cuts)
            yield build.or_(
                build.flag_input(Aspect.MAY_HOLD, node.name, node.type, asked),
                known.may_null if values.null else build.flag(False),
                known.may_nan if values.nan else build.flag(False),
            )

    def may_any(self, node: Expression, environment: Environment, truths: Truths) -> Flag:
        """Whether the boolean `node` may take one of several truth values."""
        return self.build.or_(*(self.may(node, environment, truth) for truth in truths.members()))

    def assume(self, node: Expression, environment: Environment, truths: Truths) -> Environment:
        """The environment narrowed to rows where the boolean `node` takes one of `truths`."""
        if truths in (Truths.ANY, Truths(0)):
            return environment
        key = (self._identity(node), environment, truths)
        if key not in self._assumed:
            self._assumed[key] = self._assume(node, environment, truths)
        return self._assumed[key]

    def _assume(self, node: Expression, environment: Environment, truths: Truths) -> Environment:
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
        """The environment narrowed to rows where `node` lies in a range that its own one encloses."""
        if isinstance(node, Literal):
            return environment
        rule = self.rules[rule_key(node)]
        if rule.constrain is not None:
            # Before the node itself is narrowed, so that what lies below is asked in few environments.
            environment = rule.constrain(self, node, environment, narrowed)
        return environment.narrow(self.ordinal(node), narrowed)

    def grouped(self, node: Expression) -> list[list[Expression]]:
        """The operands of AND or OR in groups without a column in common, those on one expression as one."""
        assert isinstance(node, And | Or)
        key = self._identity(node)
        if key not in self._groups:
            groups = sharing_columns(node.operands)
            self._groups[key] = [self._merged(type(node), group) for group in groups]
        return self._groups[key]

    def _merged(self, connective: type[And | Or], operands: list[Expression]) -> list[Expression]:
        """The operands, those on one column as a predicate of their own, and first."""
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
        """Whether a row may be in the environment."""
        return environments.feasible(self.build, environment)

    def union(self, alternatives: list[Environment]) -> Environment:
        """The rows of any of the environments."""
        return environments.union(self.build, alternatives, self._elsewhere)

    def _elsewhere(self, subject: int) -> Range | None:
        node = self._subjects[subject]
        return self.in_block(node) if isinstance(node, Column) else None

    def narrowed(self, environment: Environment) -> list[tuple[Expression, Range]]:
        """The expressions that the environment narrows, with their ranges there."""
        return [(self._subjects[subject], range_) for subject, range_ in environment.narrowed]

    def in_block(self, column: Column) -> Range:
        """What the block's metadata says of a column."""
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
        self._alive[id(node)] = node  # an id is only good while its node lives
        return id(node)

    def ordinal(self, node: Expression) -> int:
        """The number of an expression; equal ones have one."""
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
    """The truth values that a set of booleans holds."""
    truths = Truths.NULL if values.null else Truths(0)
    for truth, value in ((Truths.TRUE, True), (Truths.FALSE, False)):
        if values.cuts.holds(value):
            truths |= truth
    return truths


def unknown_rule() -> Rule:
    """The rule of what no rule knows: any value, and nothing to narrow."""
    return Rule(range=lambda analysis, node, _: ranges.anything(analysis.build, type_of(node)))
