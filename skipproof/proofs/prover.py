"""The prover: it proves what the rules say of one expression for all blocks and rows, or finds a witness."""

import hashlib
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import z3

from oracles.symbolic.evaluation import Ideals, Meaning, SymbolicValue
from pruning.expressions.sql import to_sql
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
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import truth_flags
from pruning.rules.interpreters.solver.interpreter import Solver
from pruning.rules.interpreters.solver.numbers import Bounded, Cell, Number
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Bound, Flag, Input, Op, Program
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.truths import Truths
from skipproof.proofs.tested_axioms import TestedAxioms
from skipproof.proofs.time_meanings import times

# The effort that Z3 may spend on one claim where no time is given: the same on every machine, however busy.
EFFORT = 3_000_000_000
# The time for one claim there, because Z3 does not count all that it does as effort.
CLAIM_SECONDS_MAX = 300.0
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


@dataclass(frozen=True, slots=True)
class Failure:
    """A claim that is not proved.

    Attributes:
        claim: The claim's name.
        decided: Whether Z3 refuted it; it may have given up, or run out of time.
        detail: The witness, values of a block and of a row that contradict the claim; or why Z3 gave up.
    """

    claim: str
    decided: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Statement:
    """All that one proof must show.

    Attributes:
        program: The program that the rules compiled, whose outputs the claims speak of.
        claims: What must hold of each row of each block.
        premises: What block metadata promises, and the axioms, as Z3 terms.
        preimages: How many preimages the rules asked for.
    """

    program: Program
    claims: tuple[Claim, ...]
    premises: tuple[Any, ...]
    preimages: int


# For each claim: its name, the rows that it is about, the answer of the rules, and the outcome on a row.
_Judgements: TypeAlias = list[tuple[str, Any, Range | tuple[Flag, Any], SymbolicValue]]


@dataclass(slots=True)
class Proof:
    """All that is claimed of one expression under one table of rules.

    Attributes:
        compiled: Whether the claims are the outputs of the program that a predicate compiles to, as pruning
            runs it; else all that the rules say of the expression, with its range and its narrowings.
    """

    expression: Expression
    rules: Mapping[RuleKey, Rule] = field(default_factory=lambda: RULES)
    build: Builder = field(default_factory=Builder)
    solver: Solver = field(default_factory=Solver)
    beyond: ExtraMetadata = BOUNDS_ONLY
    compiled: bool = False
    _elements: list[tuple[Element, str]] = field(default_factory=list)
    _asked: dict[Input, Any] = field(default_factory=dict)
    _statement: Statement | None = None

    def failures(self, *, seconds: float | None = None, effort: int = EFFORT) -> list[Failure]:
        """Return the claims that are refuted, each with a witness, and those that Z3 does not decide.

        Args:
            seconds: The time for all claims together, the making of them included.
            effort: Without a time: what Z3 may spend on each claim.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        statement = self.statement()
        failures: list[Failure] = []
        for claim in statement.claims:
            if deadline is None:
                failures += _failure(claim, statement, seconds=CLAIM_SECONDS_MAX, effort=effort)
            else:
                failures += _failure(claim, statement, seconds=deadline - time.monotonic())
        return failures

    def refutation(
        self, *, effort: int = EFFORT, seconds_per_claim: float = CLAIM_SECONDS_MAX
    ) -> Failure | None:
        """Return the first claim that is refuted, with its witness; None where none is.

        Args:
            effort: What Z3 may spend on each claim.
            seconds_per_claim: The time for each claim.
        """
        statement = self.statement()
        for claim in statement.claims:
            for failure in _failure(claim, statement, seconds=seconds_per_claim, effort=effort):
                if failure.decided:
                    return failure
        return None

    def statement(self) -> Statement:
        """Return what must be shown; it is made once."""
        if self._statement is None:
            self._statement = self._make_statement()
        return self._statement

    def fingerprint(self) -> str:
        """A hash of every question that the proof puts to Z3, letter by letter.

        The program, the metadata's premises and the axioms are all part of the questions.
        """
        statement = self.statement()
        digest = hashlib.sha256()
        for term in statement.premises:
            digest.update(_text(term))
        for claim in statement.claims:
            for part in (claim.name.encode(), _text(claim.when), _text(claim.then)):
                digest.update(part)
        return digest.hexdigest()

    def _make_statement(self) -> Statement:
        tested = TestedAxioms(self.solver)
        analysis = Analysis(tested.record_requests(self.rules), self.build, self.beyond)
        row = {name: self._row(name, type_) for name, type_ in columns(self.expression).items()}
        row |= {part.name: self._element(part) for part in walk(self.expression) if isinstance(part, Element)}
        ideals = Ideals(self.solver.theory.ordering.place, self._round, self.solver.theory.functions.of)
        meaning = Meaning(row, ideals, self._element, times(self.solver.theory))
        outcome = _outcome(meaning, self.expression)
        self._meet_products(meaning)
        judgements = (
            self._outputs(analysis, outcome)
            if self.compiled
            else self._judgements(analysis, meaning, outcome)
        )
        program, claims = self._judge(analysis, judgements)
        rows = [(name, name, type_) for name, type_ in columns(self.expression).items()]
        rows += [(part.name, row, part.type) for part, row in self._elements]
        premises = [term for name, row, type_ in rows for term in self._premises(name, row, type_)]
        premises += tested.of(self.expression, meaning)
        for input_, flag in self._asked.items():
            assert isinstance(input_.argument, Cuts | Language)
            assert input_.type is not None
            held = ValueSet(input_.argument)
            premises.append(z3.Implies(tested.member(held, row[input_.column], input_.type), flag))
        premises += meaning.assumptions + self.solver.theory.axioms()
        return Statement(program, tuple(claims), tuple(premises), len(tested.requests))

    def _outputs(self, analysis: Analysis, outcome: SymbolicValue) -> _Judgements:
        """The outputs of the program that the predicate compiles to: may it be TRUE, FALSE, NULL?"""
        flags = truth_flags(analysis, canonical(self.expression))
        answers = z3.Not(outcome.raises)
        return [
            (f"may be {truth.name}", answers, (flag, _takes(outcome, truth)), outcome)
            for truth, flag in zip((Truths.TRUE, Truths.FALSE, Truths.NULL), flags, strict=True)
        ]

    def _judgements(self, analysis: Analysis, meaning: Meaning, outcome: SymbolicValue) -> _Judgements:
        """All that the rules say of the expression: truth values, narrowings, orders and its range."""
        everywhere = Environment()
        answers = z3.Not(outcome.raises)
        judgements: _Judgements = []
        if type_of(self.expression) == BOOLEAN:
            for truth in Truths.ANY.members():
                flag = analysis.may(self.expression, everywhere, truth)
                judgements.append((f"may be {truth.name}", answers, (flag, _takes(outcome, truth)), outcome))
            judgements += self._narrowings(analysis, meaning, outcome, answers)
        if isinstance(self.expression, Order):
            judgements += self._orders(analysis, outcome, answers)
        range_ = analysis.range(self.expression, everywhere)
        return [*judgements, ("range", answers, range_, outcome)]

    def _orders(self, analysis: Analysis, outcome: SymbolicValue, answers: Any) -> _Judgements:
        """The flags that the order may lie in each set of signs, and in NULL."""
        judgements: _Judgements = []
        subsets = (itertools.combinations((-1, 0, 1), size) for size in range(4))
        for signs in itertools.chain.from_iterable(subsets):
            values = ValueSet(cuts.of_values(signs, BYTE), null=not signs)
            flag = analysis.may_lie(self.expression, Environment(), values)
            inside = z3.And(z3.Not(outcome.null), z3.Or(*(outcome.value == sign for sign in signs)))
            taken = inside if signs else outcome.null
            judgements.append((f"may be in {signs or 'NULL'}", answers, (flag, taken), outcome))
        return judgements

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
    ) -> _Judgements:
        judgements: _Judgements = []
        for truths in ASSUMED:
            narrowed = analysis.assume(self.expression, Environment(), truths)
            when = z3.And(answers, z3.Or(*(_takes(outcome, truth) for truth in truths.members())))
            for subject, range_ in analysis.narrowed_ranges(narrowed):
                name = f"{_sql_name(subject)} where it is {_words(truths)}"
                judgements.append((name, when, range_, _outcome(meaning, subject)))
        return judgements

    def _judge(self, analysis: Analysis, judgements: _Judgements) -> tuple[Program, list[Claim]]:
        outputs: list[Flag | Bound] = []
        for _, _, answer, _ in judgements:
            outputs += [answer[0]] if isinstance(answer, tuple) else _parts(answer)
        program = analysis.build.program(*outputs)
        cells = iter(self.solver.run(program, {input_: self._input(input_) for input_ in program.inputs}))
        claims: list[Claim] = []
        for name, when, answer, outcome in judgements:
            if isinstance(answer, tuple):
                claims.append(Claim(name, z3.And(when, answer[1]), next(cells)))
            else:
                lower, upper, may_null, may_nan, may_value = (next(cells) for _ in range(5))
                claims.append(
                    Claim(name, when, _encloses(lower, upper, may_null, may_nan, may_value, outcome))
                )
        return program, claims

    def _round(self, exact: Any) -> tuple[Any, Any]:
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
        lower, upper, may_null, may_nan, may_value = (
            self._input(Input(aspect, name, type_))
            for aspect in (Aspect.LOWER, Aspect.UPPER, Aspect.MAY_NULL, Aspect.MAY_NAN, Aspect.MAY_VALUE)
        )
        in_type = [self.solver.theory.in_type(Number(row.value, row.sign), type_)]
        in_type += [self.solver.theory.in_type(bound.number, type_) for bound in (lower, upper)]
        enclosed = _encloses(lower, upper, may_null, may_nan, may_value, row)
        return [*in_type, z3.Not(z3.And(row.null, row.nan)), enclosed]


def _failure(
    claim: Claim, statement: Statement, *, seconds: float, effort: int | None = None
) -> Iterator[Failure]:
    """The failure of one claim, if Z3 does not prove it in the time, or with the effort."""
    if seconds <= 0:
        yield Failure(claim.name, decided=False, detail="no time was left for it")
        return
    prover = z3.Solver()
    prover.set("timeout", max(1, int(1_000 * seconds)))
    if effort is not None:
        prover.set("rlimit", effort)
    prover.add(*statement.premises, claim.when, z3.Not(claim.then))
    answer = prover.check()
    if answer == z3.sat:
        yield Failure(claim.name, decided=True, detail=str(prover.model()))
    elif answer == z3.unknown:
        yield Failure(claim.name, decided=False, detail=prover.reason_unknown())


def _text(term: Any) -> bytes:
    """A premise or a claim as Z3 writes it; an axiom that needs no term is True."""
    written: str = term.sexpr() if z3.is_expr(term) else str(term)
    return written.encode()


def _words(truths: Truths) -> str:
    return str(truths.name).replace("_", " ")


def _sql_name(subject: Expression) -> str:
    """An expression as SQL; the order of two, which SQL has no word for, by both."""
    if isinstance(subject, Order):
        return f"the order of {to_sql(subject.left)} and {to_sql(subject.right)}"
    return to_sql(subject)


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


def _parts(range_: Range) -> list[Flag | Bound]:
    return [range_.lower, range_.upper, range_.may_null, range_.may_nan, range_.may_value]


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
