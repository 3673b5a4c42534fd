"""Runs a program on Z3 terms: what it says of *all* blocks at once, for proofs.

Values are ideal. Integers, dates, timestamps and unscaled decimals are Z3 integers; strings and
binaries are integers too, standing for places in the total order of bytes (the rules use nothing
else of them); floats are a real or an infinity, and rounding is any monotone function. A proof is
therefore modulo the primitives, which are tested against these ideals.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import z3

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.rules import primitives
from pruning.rules.primitives import Intervals
from pruning.rules.program import Input, Op, Operation, Program

Term: TypeAlias = Any  # z3 has no types of its own


@dataclass(frozen=True, slots=True)
class Number:
    """A value: finite (`sign` 0) with `value`, or the infinity of that sign, whatever `value` is."""

    value: Term
    sign: Term

    def less(self, other: "Number") -> Term:
        """`self < other`."""
        finite = z3.And(self.sign == 0, other.sign == 0, self.value < other.value)
        return z3.Or(self.sign < other.sign, finite)

    def at_most(self, other: "Number") -> Term:
        """`self <= other`."""
        return z3.Not(other.less(self))


@dataclass(frozen=True, slots=True)
class Bounded:
    """A bound: `known` says whether `number` means anything."""

    known: Term
    number: Number


Cell: TypeAlias = "Term | Bounded"


@dataclass(slots=True)
class Ordering:
    """Places of byte strings in their total order, as far as a proof names them.

    Each constant is an integer variable; `axioms` says that they lie in the order of their bytes.
    """

    places: dict[bytes, Term] = field(default_factory=dict)

    def place(self, value: bytes) -> Term:
        """The term that stands for one byte string."""
        return self.places.setdefault(value, z3.Int(f"bytes {value.hex()}"))

    def axioms(self) -> list[Term]:
        """The constants are in order, and each differs from the next."""
        ascending = [self.places[value] for value in sorted(self.places)]
        return [left < right for left, right in itertools.pairwise(ascending)]


@dataclass(slots=True)
class Rounding:
    """Rounding of exact sums to floats: some monotone function, which may reach the infinities."""

    sign: Term = field(default_factory=lambda: z3.Function("rounded sign", z3.RealSort(), z3.IntSort()))
    value: Term = field(default_factory=lambda: z3.Function("rounded", z3.RealSort(), z3.RealSort()))
    arguments: list[Term] = field(default_factory=list)

    def of(self, exact: Term) -> Number:
        """The rounded value of a finite exact one."""
        self.arguments.append(exact)
        return Number(self.value(exact), self.sign(exact))

    def axioms(self) -> list[Term]:
        """ROUNDING: a <= b gives round(a) <= round(b), for each two values that were rounded."""
        rounded = [(exact, Number(self.value(exact), self.sign(exact))) for exact in self.arguments]
        monotone = [
            z3.Implies(low <= high, low_rounded.at_most(high_rounded))
            for low, low_rounded in rounded
            for high, high_rounded in rounded
            if low is not high
        ]
        signs = [z3.And(number.sign >= -1, number.sign <= 1) for _, number in rounded]
        return monotone + signs


@dataclass(slots=True)
class Solver:
    """Runs programs over one set of ideals, so that several share their strings and rounding."""

    ordering: Ordering = field(default_factory=Ordering)
    rounding: Rounding = field(default_factory=Rounding)

    def axioms(self) -> list[Term]:
        """What the proofs may use beyond arithmetic; ask when every term has been made."""
        return self.ordering.axioms() + self.rounding.axioms()

    def constant(self, value: Value, type_: Type) -> Number:
        """A literal value as a term; not NaN."""
        if isinstance(value, bytes):
            return Number(self.ordering.place(value), z3.IntVal(0))
        if type_.floating:
            if math.isinf(value):
                return Number(z3.RealVal(0), z3.IntVal(1 if value > 0 else -1))
            return Number(z3.RealVal(str(Decimal(value))), z3.IntVal(0))
        return Number(z3.IntVal(unscaled(value, type_)), z3.IntVal(0))

    def variable(self, name: str, type_: Type) -> Number:
        """A value that may be anything in the order of the type."""
        if type_.floating:
            return Number(z3.Real(name), z3.Int(f"{name} sign"))
        return Number(z3.Int(name), z3.IntVal(0))

    def in_type(self, number: Number, type_: Type) -> Term:
        """Whether a number is a value of the type."""
        if type_.floating:
            return z3.And(number.sign >= -1, number.sign <= 1)
        limits = limits_of(type_)
        return True if limits is None else z3.And(number.value >= limits[0], number.value <= limits[1])

    def add(self, left: Number, right: Number, type_: Type, *, sign: int) -> tuple[Term, Number]:
        """Whether `left + sign * right` is a value of the type, and that value."""
        exact = left.value + sign * right.value
        if not type_.floating:
            total = Number(exact, z3.IntVal(0))
            return self.in_type(total, type_), total
        rounded = self.rounding.of(exact)
        right_sign = sign * right.sign
        infinite = z3.If(left.sign != 0, left.sign, right_sign)
        finite = z3.And(left.sign == 0, right.sign == 0)
        total = Number(rounded.value, z3.If(finite, rounded.sign, infinite))
        return z3.Not(z3.And(left.sign != 0, right_sign == -left.sign)), total

    def cast(self, number: Number, source: Type, target: Type) -> tuple[Term, Number]:
        """Whether a value has a counterpart in `target`, and that counterpart."""
        if target.floating:
            cast = number if source.floating else self.rounding.of(z3.ToReal(number.value))
            return z3.BoolVal(True), cast
        if source.kind is Kind.DATE and target.kind is not Kind.DATE:
            number = Number(number.value * primitives.MICROS_PER_DAY, number.sign)
        if target.kind is Kind.DECIMAL:
            digits = target.scale - source.scale
            number = Number(number.value * 10**digits, number.sign)
        return self.in_type(number, target), number

    def run(self, program: Program, inputs: Mapping[Input, Cell]) -> tuple[Cell, ...]:
        """The program's outputs, in order, over the terms of its inputs."""
        cells: list[Cell] = []
        for operation in program.operations:
            operands = [cells[index] for index in operation.operands]
            cells.append(self._step(program, operation, operands, inputs))
        return tuple(cells[index] for index in program.outputs)

    def _step(
        self, program: Program, operation: Operation, operands: list[Cell], inputs: Mapping[Input, Cell]
    ) -> Cell:
        payload = operation.payload
        if isinstance(payload, Input):
            return inputs[payload]
        if operation.type is None:
            return self._flag(program, operation, operands)
        return self._bound(program, operation, operands)

    def _flag(self, program: Program, operation: Operation, operands: list[Any]) -> Term:
        match operation.op:
            case Op.FLAG:
                return z3.BoolVal(bool(operation.payload))
            case Op.AND:
                return z3.And(*operands)
            case Op.OR:
                return z3.Or(*operands)
            case Op.NOT:
                return z3.Not(*operands)
            case Op.KNOWN:
                return operands[0].known
            case Op.MAYBE_LESS:
                return _unless_known(operands, operands[0].number.less(operands[1].number))
            case Op.MAYBE_AT_MOST:
                return _unless_known(operands, operands[0].number.at_most(operands[1].number))
        type_ = program.operations[operation.operands[0]].type
        assert type_ is not None
        assert isinstance(operation.payload, tuple)
        lower, upper = operands
        if operation.op is Op.MAYBE_MEETS:
            return self._meets(lower, upper, operation.payload, type_)
        assert operation.op is Op.MAYBE_LEAVES, operation.op
        return z3.Not(self._inside(lower, upper, operation.payload, type_))

    def _meets(self, lower: Bounded, upper: Bounded, intervals: Intervals, type_: Type) -> Term:
        meetings = []
        for interval in intervals:
            start, end = (self.constant(edge, type_) for edge in interval)
            from_above = z3.Implies(upper.known, start.at_most(upper.number))
            meetings.append(z3.And(from_above, z3.Implies(lower.known, lower.number.at_most(end))))
        return z3.Or(*meetings)

    def _inside(self, lower: Bounded, upper: Bounded, intervals: Intervals, type_: Type) -> Term:
        holders = []
        for interval in intervals:
            start, end = (self.constant(edge, type_) for edge in interval)
            holders.append(z3.And(start.at_most(lower.number), upper.number.at_most(end)))
        return z3.And(lower.known, upper.known, z3.Or(*holders))

    def _bound(self, program: Program, operation: Operation, operands: list[Any]) -> Bounded:
        type_ = operation.type
        assert type_ is not None
        match operation.op:
            case Op.UNKNOWN:
                return Bounded(z3.BoolVal(False), self.constant(_ANY_VALUE.get(type_.kind, 0), type_))
            case Op.BOUND:
                payload = operation.payload
                assert payload is not None
                assert not isinstance(payload, tuple | Input)
                return Bounded(z3.BoolVal(True), self.constant(payload, type_))
            case Op.CHOOSE:
                return _if(operands[0], operands[1], operands[2])
            case Op.LEAST | Op.GREATEST | Op.LEAST_KNOWN | Op.GREATEST_KNOWN:
                return _extreme(operation.op, *operands)
            case Op.CAST:
                source = program.operations[operation.operands[0]].type
                assert source is not None
                fits, number = self.cast(operands[0].number, source, type_)
                return Bounded(z3.And(operands[0].known, fits), number)
        return self._sum(operation.op, type_, operands)

    def _sum(self, op: Op, type_: Type, operands: list[Bounded]) -> Bounded:
        left = operands[0]
        steps = op in (Op.NEXT, Op.PREVIOUS)
        one = Bounded(z3.BoolVal(True), Number(z3.IntVal(1), z3.IntVal(0)))
        right = one if steps else operands[1]
        assert steps or op in (Op.ADD, Op.SUBTRACT), op
        sign = 1 if op in (Op.ADD, Op.NEXT) else -1
        fits, total = self.add(left.number, right.number, type_, sign=sign)
        return Bounded(z3.And(left.known, right.known, fits), total)


_ANY_VALUE: dict[Kind, Value] = dict.fromkeys(BYTES, b"")


def unscaled(value: Value, type_: Type) -> int:
    """The integer that stands for a value: a decimal without its point, others as they are."""
    assert not isinstance(value, bytes)
    return int(Fraction(value) * 10**type_.scale)


def limits_of(type_: Type) -> tuple[int, int] | None:
    """The least and the greatest integer that stands for a value of the type, if there are such."""
    if type_.kind is Kind.DECIMAL:
        greatest: int = 10**type_.precision - 1
        return -greatest, greatest
    return (0, 1) if type_.kind is Kind.BOOLEAN else type_.integer_range


def _unless_known(operands: list[Any], holds: Term) -> Term:
    return z3.Implies(z3.And(operands[0].known, operands[1].known), holds)


def _if(flag: Term, then: Bounded, otherwise: Bounded) -> Bounded:
    number = Number(
        z3.If(flag, then.number.value, otherwise.number.value),
        z3.If(flag, then.number.sign, otherwise.number.sign),
    )
    return Bounded(z3.If(flag, then.known, otherwise.known), number)


def _extreme(op: Op, left: Bounded, right: Bounded) -> Bounded:
    smallest = op in (Op.LEAST, Op.LEAST_KNOWN)
    first = left.number.less(right.number) if smallest else right.number.less(left.number)
    if op in (Op.LEAST, Op.GREATEST):
        return Bounded(z3.And(left.known, right.known), _if(first, left, right).number)
    takes_left = z3.And(left.known, z3.Or(z3.Not(right.known), first))
    return Bounded(z3.Or(left.known, right.known), _if(takes_left, left, right).number)
