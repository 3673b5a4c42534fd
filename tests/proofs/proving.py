"""Proves what the rules say of one expression, for all blocks and all rows, or finds a witness."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import z3
from subjects_of_time import times
from tested_axioms import TestedAxioms

from oracles.symbolic.evaluation import Ideals, Meaning, SymbolicValue
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import (
    Arithmetic,
    Compare,
    Comparison,
    Element,
    Expression,
    Operator,
    Order,
    type_of,
)
from pruning.expressions.types import BOOLEAN, BYTE, Type
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import BOUNDS_ONLY, Analysis, ExtraMetadata, Rule, RuleKey
from pruning.rules.analysis.ranges import Range
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.solver.interpreter import Solver
from pruning.rules.interpreters.solver.numbers import Bounded, Cell, Number
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Bound, Flag, Input, Op
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.truths import Truths

TIMEOUT_MS = 60_000
ASSUMED = (
    Truths.TRUE,
    Truths.FALSE,
    Truths.NULL,
    Truths.NOT_TRUE,
    Truths.NOT_FALSE,
    Truths.NOT_NULL,
)


OPERATIONS = {
    Operator.ADD: Op.ADD,
    Operator.SUBTRACT: Op.SUBTRACT,
    Operator.MULTIPLY: Op.MULTIPLY,
    Operator.DIVIDE: Op.DIVIDE,
    Operator.INTEGRAL_DIVIDE: Op.QUOTIENT,
    Operator.REMAINDER: Op.REMAINDER,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """On each row where `when` holds, `then` does; both are Z3 terms."""

    name: str
    when: Any
    then: Any


@dataclass(slots=True)
class Proof:
    """All that is claimed of one expression under one table of rules."""

    expression: Expression
    rules: Mapping[RuleKey, Rule] = field(default_factory=lambda: RULES)
    build: Builder = field(default_factory=Builder)
    solver: Solver = field(default_factory=Solver)
    beyond: ExtraMetadata = BOUNDS_ONLY
    _elements: list[tuple[Element, str]] = field(default_factory=list)
    _asked: dict[Input, Any] = field(default_factory=dict)

    def refuted(self, *, limit: int | None = None) -> list[str]:
        """The claims that do not hold, each with a witness; those that Z3 cannot decide as well.

        No more than `limit` of them are looked for.
        """
        claims, premises = self._claims()
        found: list[str] = []
        for claim in claims:
            if len(found) == limit:
                break
            prover = z3.Solver()
            prover.set("timeout", TIMEOUT_MS)
            prover.add(*premises, claim.when, z3.Not(claim.then))
            answer = prover.check()
            if answer == z3.sat:
                found.append(f"{claim.name}: {prover.model()}")
            elif answer == z3.unknown:
                found.append(f"{claim.name}: not decided ({prover.reason_unknown()})")
        return found

    def _claims(self) -> tuple[list[Claim], list[Any]]:
        tested = TestedAxioms(self.solver)
        analysis = Analysis(tested.recording(self.rules), self.build, self.beyond)
        everywhere = Environment()
        row = {name: self._row(name, type_) for name, type_ in columns(self.expression).items()}
        row |= {part.name: self._element(part) for part in walk(self.expression) if isinstance(part, Element)}
        ideals = Ideals(self.solver.theory.ordering.place, self._rounded, self.solver.theory.functions.of)
        meaning = Meaning(row, ideals, self._element, times(self.solver.theory))
        outcome = _outcome(meaning, self.expression)
        self._meet_products(meaning)
        answers = z3.Not(outcome.raises)
        judged: list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]] = []
        if type_of(self.expression) == BOOLEAN:
            for truth in Truths.ANY.members():
                flag = analysis.may(self.expression, everywhere, truth)
                judged.append((f"may be {truth.name}", answers, (flag, _takes(outcome, truth)), outcome))
            judged += self._narrowings(analysis, meaning, outcome, answers)
        if isinstance(self.expression, Order):
            judged += self._orders(analysis, outcome, answers)
        known = analysis.range(self.expression, everywhere)
        judged.append(("range", answers, known, outcome))
        claims = self._judge(analysis, judged)
        rows = [(name, name, type_) for name, type_ in columns(self.expression).items()]
        rows += [(part.name, row, part.type) for part, row in self._elements]
        premises = [term for name, row, type_ in rows for term in self._premises(name, row, type_)]
        premises += tested.of(self.expression, meaning)
        for input_, flag in self._asked.items():
            held = ValueSet(input_.argument)
            premises.append(z3.Implies(tested.member(held, row[input_.column], input_.type), flag))
        return claims, premises + meaning.assumptions + self.solver.theory.axioms()

    def _orders(
        self, analysis: Analysis, outcome: SymbolicValue, answers: Any
    ) -> list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]]:
        """Whether the order may lie in each set of signs, and in NULL."""
        judged: list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]] = []
        subsets = (itertools.combinations((-1, 0, 1), size) for size in range(4))
        for signs in itertools.chain.from_iterable(subsets):
            values = ValueSet(cuts.of_values(signs, BYTE), null=not signs)
            flag = analysis.may_lie(self.expression, Environment(), values)
            inside = z3.And(z3.Not(outcome.null), z3.Or(*(outcome.value == sign for sign in signs)))
            taken = inside if signs else outcome.null
            judged.append((f"may be in {signs or 'NULL'}", answers, (flag, taken), outcome))
        return judged

    def _meet_products(self, meaning: Meaning) -> None:
        """Let the solver say of the row's products and quotients what it says of the program's."""
        for node in walk(self.expression):
            if isinstance(node, Arithmetic) and type_of(node.left).has_bounds:
                left, right = (
                    Bounded(z3.BoolVal(True), Number(side.value, side.sign))
                    for side in (meaning.of(node.left), meaning.of(node.right))
                )
                types = type_of(node.left), type_of(node.right)
                self.solver.compute(OPERATIONS[node.operator], types, node.type, left, right)

    def _narrowings(
        self, analysis: Analysis, meaning: Meaning, outcome: SymbolicValue, answers: Any
    ) -> list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]]:
        judged: list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]] = []
        for truths in ASSUMED:
            narrowed = analysis.assume(self.expression, Environment(), truths)
            when = z3.And(answers, z3.Or(*(_takes(outcome, truth) for truth in truths.members())))
            for subject, known in analysis.narrowed_ranges(narrowed):
                judged.append((f"{subject} where it is {truths}", when, known, _outcome(meaning, subject)))
        return judged

    def _judge(
        self, analysis: Analysis, judged: list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]]
    ) -> list[Claim]:
        outputs: list[Flag | Bound] = []
        for _, _, known, _ in judged:
            outputs += [known[0]] if isinstance(known, tuple) else _parts(known)
        program = analysis.build.program(*outputs)
        cells = iter(self.solver.run(program, {input_: self._input(input_) for input_ in program.inputs}))
        claims: list[Claim] = []
        for name, when, known, outcome in judged:
            if isinstance(known, tuple):
                claims.append(Claim(name, z3.And(when, known[1]), next(cells)))
            else:
                lower, upper, may_null, may_nan, may_value = (next(cells) for _ in range(5))
                claims.append(
                    Claim(name, when, _encloses(lower, upper, may_null, may_nan, may_value, outcome))
                )
        return claims

    def _rounded(self, exact: Any) -> tuple[Any, Any]:
        number = self.solver.theory.rounding.of(exact)
        return number.sign, number.value

    def _row(self, name: str, type_: Type) -> SymbolicValue:
        number = self.solver.theory.variable(f"{name} row", type_)
        nan = z3.Bool(f"{name} row is NaN") if type_.floating else z3.BoolVal(False)
        null = z3.Bool(f"{name} row is NULL")
        return SymbolicValue(
            raises=z3.BoolVal(False), null=null, nan=nan, value=number.value, sign=number.sign
        )

    def _element(self, node: Element) -> SymbolicValue:
        """Some element of some row, of which the block's metadata is true as it is of a column's rows."""
        name = f"{node.name} {len(self._elements)}"
        self._elements.append((node, name))
        return self._row(name, node.type)

    def _input(self, input_: Input) -> Cell:
        if input_.aspect is Aspect.HAS_ROWS:
            return z3.BoolVal(True)
        name = f"{input_.column} {input_.aspect.name}"
        if input_.aspect is Aspect.MAY_HOLD:
            return self._asked.setdefault(input_, z3.Bool(f"{name} {len(self._asked)}"))
        if input_.aspect not in (Aspect.LOWER, Aspect.UPPER):
            return z3.Bool(name)
        assert input_.type is not None
        return Bounded(z3.Bool(f"{name} known"), self.solver.theory.variable(name, input_.type))

    def _premises(self, name: str, row_name: str, type_: Type) -> list[Any]:
        """The row is a row of the block that the metadata describes."""
        row = self._row(row_name, type_)
        cells = [self._input(Input(aspect, name, type_)) for aspect in (Aspect.LOWER, Aspect.UPPER)]
        flags = [
            self._input(Input(aspect, name, type_))
            for aspect in (Aspect.MAY_NULL, Aspect.MAY_NAN, Aspect.MAY_VALUE)
        ]
        in_type = [self.solver.theory.in_type(Number(row.value, row.sign), type_)]
        in_type += [self.solver.theory.in_type(cell.number, type_) for cell in cells]
        return [*in_type, z3.Not(z3.And(row.null, row.nan)), _encloses(*cells, *flags, row)]


def _outcome(meaning: Meaning, subject: Expression) -> SymbolicValue:
    """The meaning of an expression, or of the order of two, by the comparisons that it stands for."""
    if not isinstance(subject, Order):
        return meaning.of(subject)
    less, equal = (
        meaning.of(Compare(operator, subject.left, subject.right))
        for operator in (Comparison.LESS, Comparison.EQUAL)
    )
    sign = z3.If(less.true, -1, z3.If(equal.true, 0, 1))
    return replace(less, value=sign)


def _parts(known: Range) -> list[Flag | Bound]:
    return [known.lower, known.upper, known.may_null, known.may_nan, known.may_value]


def _takes(outcome: SymbolicValue, truth: Truths) -> Any:
    return {Truths.TRUE: outcome.true, Truths.FALSE: outcome.false, Truths.NULL: outcome.null}[truth]


def _encloses(
    lower: Bounded, upper: Bounded, may_null: Any, may_nan: Any, may_value: Any, outcome: SymbolicValue
) -> Any:
    number = Number(outcome.value, outcome.sign)
    inside = z3.And(
        may_value,
        z3.Implies(lower.known, lower.number.at_most(number)),
        z3.Implies(upper.known, number.at_most(upper.number)),
    )
    is_nan = z3.And(z3.Not(outcome.null), outcome.nan)
    return z3.And(
        z3.Implies(outcome.null, may_null),
        z3.Implies(is_nan, may_nan),
        z3.Implies(z3.Not(z3.Or(outcome.null, outcome.nan)), inside),
    )
