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

from pruning.expressions.trees import Function
from pruning.expressions.types import BYTES, DOUBLE, Kind, Type, Value
from pruning.rules import primitives
from pruning.rules.cuts import Cut, Cuts
from pruning.rules.functions import ROUNDING, Apply, Side
from pruning.rules.interpreters import solver_facts
from pruning.rules.interpreters.solver_arithmetic import Arithmetic
from pruning.rules.interpreters.solver_facts import real
from pruning.rules.interpreters.solver_functions import (
    RealFunctions,
    rounded_units,
    toward_zero,
    whole_exponent,
)
from pruning.rules.interpreters.solver_products import Monotony, ratio, rest
from pruning.rules.program import ARITHMETIC, Input, Op, Operation, Program

Term: TypeAlias = Any  # z3 has no types of its own

_ZERO = z3.IntVal(0)
LOGARITHMS = frozenset({"ln", "log10", "log2", "log1p", "log"})  # known from the next float on


@dataclass(frozen=True, slots=True)
class Number:
    """A value: finite (`sign` 0) with `value`, or the infinity of that sign, whatever `value` is."""

    value: Term
    sign: Term

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant 0."""
        return bool(
            z3.is_rational_value(self.value) and self.value.as_fraction() == 0 and self.sign.eq(_ZERO)
        )

    def scaled(self, factor: int) -> "Number":
        """The number times 1 or -1."""
        return Number(factor * self.value, factor * self.sign)

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

    Each constant is an integer variable; `axioms` says where they lie.
    """

    places: dict[bytes, Term] = field(default_factory=dict)

    def place(self, value: bytes) -> Term:
        """The term that stands for one byte string."""
        return self.places.setdefault(value, z3.Int(f"bytes {value.hex()}"))

    def axioms(self) -> list[Term]:
        """ORDER: constants are in the order of their bytes. SUCCESSOR: none lies between s and s + 0x00."""
        ascending = sorted(self.places)
        in_order = [self.places[one] < self.places[other] for one, other in itertools.pairwise(ascending)]
        adjacent = [
            self.places[value + b"\0"] == self.places[value] + 1
            for value in ascending
            if value + b"\0" in self.places
        ]
        return in_order + adjacent


@dataclass(slots=True)
class Rounding:
    """Rounding of exact sums to floats: some monotone function, which may reach the infinities."""

    sign: Term = field(default_factory=lambda: z3.Function("rounded sign", z3.RealSort(), z3.IntSort()))
    value: Term = field(default_factory=lambda: z3.Function("rounded", z3.RealSort(), z3.RealSort()))
    arguments: list[Term] = field(default_factory=list)

    def of(self, exact: Term) -> Number:
        """The rounded value of a finite exact one."""
        if not any(exact.eq(argument) for argument in self.arguments):
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
    functions: RealFunctions = field(default_factory=RealFunctions)
    monotony: Monotony = field(default_factory=Monotony)

    constants: set[tuple[float | Decimal, Type]] = field(default_factory=set)
    variables: list[tuple[Number, Type]] = field(default_factory=list)
    narrows: bool = False

    def axioms(self) -> list[Term]:
        """What the proofs may use beyond arithmetic; ask when every term has been made."""
        facts = self._facts() + self._floats_kept()
        functions = self.functions.axioms()  # first: they may name more points
        return self.ordering.axioms() + self.rounding.axioms() + functions + facts + self.monotony.axioms()

    def _floats_kept(self) -> list[Term]:
        """KEPT: rounding keeps the floats that a proof names. SMALLEST: none lies nearer to zero than one.

        Asked for by quotients of floats only; a proof has floats of one width then.
        """
        if {ratio, rest}.isdisjoint(self.monotony.pairs):
            return []
        (width,) = {type_ for _, type_ in self.variables}
        smallest = real(2.0**-149 if width.kind is Kind.FLOAT else 2.0**-1074)
        terms = [
            z3.Or(number.sign != 0, number.value == 0, number.value <= -smallest, number.value >= smallest)
            for number, _ in self.variables
        ]
        for value, type_ in sorted(self.constants, key=repr):
            if type_ == width:
                kept = self.rounding.of(real(value))
                terms += [kept.sign == 0, kept.value == real(value)]
        return terms

    def _facts(self) -> list[Term]:
        """What rounding and texts give at the constants of rules that narrow, and beside them.

        NEIGHBOURS: no float lies between two adjacent ones.
        """
        terms: list[Term] = []
        if not (self.narrows or self.functions.points):
            return terms
        narrows = self.narrows or not LOGARITHMS.isdisjoint(self.functions.points)
        self.constants |= {(0.0, DOUBLE), (1.0, DOUBLE)}
        for value, type_ in sorted(self.constants, key=repr):
            beside = solver_facts.neighbours(value, type_) if narrows else [value]
            gaps = [
                (solver_facts.real(low), solver_facts.real(high)) for low, high in itertools.pairwise(beside)
            ]
            terms += [
                z3.Or(number.sign != 0, number.value <= low, number.value >= high)
                for low, high in gaps
                for number, of_type in self.variables
                if type_.floating and of_type == type_
            ]
            for constant in beside:
                terms += solver_facts.rounding(self.rounding.of, constant, bool(self.rounding.arguments))
                terms += solver_facts.texts(self.functions.of, constant, tuple(self.functions.points))
        return terms

    def constant(self, value: Value, type_: Type) -> Number:
        """A literal value as a term; not NaN."""
        if isinstance(value, bytes):
            return Number(self.ordering.place(value), z3.IntVal(0))
        if type_.floating:
            if math.isinf(value):
                return Number(z3.RealVal(0), z3.IntVal(1 if value > 0 else -1))
            self.constants.add((float(value), type_))
            return Number(z3.RealVal(str(Decimal(value))), z3.IntVal(0))
        if isinstance(value, Decimal):
            self.constants.add((value, type_))
        return Number(z3.IntVal(unscaled(value, type_)), z3.IntVal(0))

    def variable(self, name: str, type_: Type) -> Number:
        """A value that may be anything in the order of the type."""
        if type_.floating:
            number = Number(z3.Real(name), z3.Int(f"{name} sign"))
            self.variables.append((number, type_))
            return number
        return Number(z3.Int(name), z3.IntVal(0))

    def in_type(self, number: Number, type_: Type) -> Term:
        """Whether a number is a value of the type."""
        if type_.floating:
            return z3.And(number.sign >= -1, number.sign <= 1)
        if type_.kind in BYTES:
            return number.value >= self.ordering.place(b"")  # the least of all
        limits = limits_of(type_)
        return True if limits is None else z3.And(number.value >= limits[0], number.value <= limits[1])

    def add(self, left: Number, right: Number, type_: Type, *, sign: int) -> tuple[Term, Number]:
        """Whether `left + sign * right` is a value of the type, and that value."""
        exact = left.value + sign * right.value
        if not type_.floating:
            total = Number(exact, z3.IntVal(0))
            return self.in_type(total, type_), total
        # Zero less a float is a float.
        rounded = right.scaled(sign) if left.is_zero else self.rounding.of(exact)
        right_sign = sign * right.sign
        infinite = z3.If(left.sign != 0, left.sign, right_sign)
        finite = z3.And(left.sign == 0, right.sign == 0)
        total = Number(rounded.value, z3.If(finite, rounded.sign, infinite))
        return z3.Not(z3.And(left.sign != 0, right_sign == -left.sign)), total

    def cast(self, number: Number, source: Type, target: Type) -> tuple[Term, Number]:
        """Whether a value has a counterpart in `target`, and that counterpart."""
        if target.floating:
            return z3.BoolVal(True), self._to_float(number, source, target)
        if source.floating:
            return self._truncated(number, target)
        if source.kind is Kind.DATE and target.kind is not Kind.DATE:
            number = Number(number.value * primitives.MICROS_PER_DAY, number.sign)
        if target.kind is Kind.DECIMAL:
            return self._at_scale(Function.ROUND, number, source.scale, target.scale, target)
        if source.kind is Kind.DECIMAL:
            number = Number(toward_zero(number.value, 10**source.scale), number.sign)
        return self.in_type(number, target), number

    def _to_float(self, number: Number, source: Type, target: Type) -> Number:
        if source == target or source.kind is Kind.FLOAT:
            return number
        if source.floating:
            near = self.rounding.of(number.value)
            return Number(near.value, z3.If(number.sign != 0, number.sign, near.sign))
        if source.kind is Kind.DECIMAL:
            self.narrows = True
            greatest = 10**source.precision - 1
            self.constants |= {(primitives.scaled(sign * greatest, source.scale), source) for sign in (-1, 1)}
        return self.rounding.of(z3.ToReal(number.value) / 10**source.scale)

    def _truncated(self, number: Number, target: Type) -> tuple[Term, Number]:
        """Toward zero; 2**63 becomes the greatest bigint."""
        self.narrows = True
        whole = z3.If(number.value < 0, -z3.ToInt(-number.value), z3.ToInt(number.value))
        limits = limits_of(target)
        assert limits is not None
        if target.kind is Kind.LONG:
            whole = z3.If(number.value == limits[1] + 1, limits[1], whole)
        fits = z3.And(number.sign == 0, whole >= limits[0], whole <= limits[1])
        return fits, Number(whole, z3.IntVal(0))

    def _at_scale(
        self, function: Function, number: Number, scale: int, digits: int, target: Type
    ) -> tuple[Term, Number]:
        """An unscaled number of some scale rounded to so many digits, in `target`."""
        units = number.value
        if digits < scale:
            units = rounded_units(function, units, 10 ** (scale - digits)) * 10 ** (target.scale - digits)
        else:
            units = units * 10 ** (target.scale - scale)
        result = Number(units, z3.IntVal(0))
        return self.in_type(result, target), result

    def apply(self, call: Apply, operands: list[Number], source: Type, target: Type) -> tuple[Term, Number]:
        """Whether a function has a value in `target`, and that value or one beside it."""
        number = operands[0]
        if call.function in ROUNDING and not source.floating:
            digits = min(call.digits, source.scale)
            return self._at_scale(call.function, number, source.scale, digits, target)
        if call.function in (Function.FLOOR, Function.CEIL):
            return z3.BoolVal(True), _saturated(call.function, number, target)
        if call.function in ROUNDING:
            return self._rounded_text(call, number, target)
        if call.function is Function.SIGN:
            finite = z3.If(number.value > 0, 1, z3.If(number.value < 0, -1, 0))
            sign = z3.If(number.sign != 0, number.sign, finite)
            return z3.BoolVal(True), Number(z3.ToReal(sign), z3.IntVal(0))
        defined, value = self._elementary(call.function, operands)
        return defined, value if call.side is Side.VALUE else self._beside(call.side, value)

    def _rounded_text(self, call: Apply, number: Number, target: Type) -> tuple[Term, Number]:
        """The double's text rounded, or an integer beside it; axiom TEXT."""
        self.narrows = True
        name = "half up" if call.function is Function.ROUND else "half even"
        units = z3.ToInt(self.functions.of(f"{name} {call.digits}", [number.value]))
        beside = self._beside(call.side, Number(units, z3.IntVal(0)))
        if target.kind is Kind.DECIMAL:
            return z3.And(number.sign == 0, self.in_type(beside, target)), beside
        near = self.rounding.of(z3.ToReal(beside.value) * z3.RealVal(f"1e{-call.digits}"))
        return z3.BoolVal(True), Number(near.value, z3.If(number.sign != 0, number.sign, near.sign))

    def _elementary(self, function: Function, operands: list[Number]) -> tuple[Term, Number]:
        """Where a function of doubles is defined, and its value, which is infinite or 0 in the limit."""
        near = self.rounding.of(self.functions.of(function.value, [number.value for number in operands]))
        number, zero = operands[-1], z3.IntVal(0)
        if function is Function.EXP:
            limit = Number(z3.RealVal(0), z3.If(number.sign > 0, 1, 0))
            return z3.BoolVal(True), _number_if(number.sign != 0, limit, near)
        if function is Function.POWER:
            return self._power(near, *operands)
        infinite = Number(z3.RealVal(0), z3.IntVal(1))
        above = {Function.SQRT: number.value >= 0, Function.LOG1P: number.value > -1}
        defined = z3.Or(number.sign > 0, z3.And(number.sign == 0, above.get(function, number.value > 0)))
        value = _number_if(number.sign != 0, infinite, near)
        if function is Function.LOG:  # of bases above 1
            base = operands[0]
            value = _number_if(base.sign != 0, Number(z3.RealVal(0), zero), value)
            large = z3.Or(base.sign > 0, z3.And(base.sign == 0, base.value > 1))
            defined = z3.And(defined, large, z3.Not(z3.And(base.sign != 0, number.sign != 0)))
        return defined, value

    def _power(self, near: Number, base: Number, exponent: Number) -> tuple[Term, Number]:
        """Of bases from 0 on, and of any base to a whole power."""
        one = z3.Or(z3.And(exponent.sign == 0, exponent.value == 0), z3.And(base.sign == 0, base.value == 1))
        large = z3.Or(base.sign > 0, base.value > 1)
        rises = z3.Or(exponent.sign > 0, z3.And(exponent.sign == 0, exponent.value > 0))
        limit = z3.Or(base.sign != 0, exponent.sign != 0, base.value == 0)
        whole = whole_exponent(exponent.value)
        infinity = 1 if whole is None else z3.If(base.sign < 0, (-1) ** whole, 1)
        infinite = Number(z3.RealVal(0), z3.If(z3.Or(base.sign < 0, large == rises), infinity, 0))
        value = _number_if(limit, infinite, near)
        positive = z3.Or(base.sign > 0, z3.And(base.sign == 0, base.value >= 0))
        defined = positive if whole is None else z3.BoolVal(True)
        return defined, _number_if(one, Number(z3.RealVal(1), z3.IntVal(0)), value)

    def _beside(self, side: Side, value: Number) -> Number:
        """Some number that is surely not above (not below) a value."""
        if side is Side.VALUE:
            return value
        real = z3.is_real(value.value)
        name = f"beside {len(self.functions.enclosures)}"
        near = Number(
            z3.Real(name) if real else z3.Int(name), z3.Int(f"{name} sign") if real else z3.IntVal(0)
        )
        low, high = (near, value) if side is Side.BELOW else (value, near)
        self.functions.enclosures += [z3.And(low.at_most(high), near.sign >= -1, near.sign <= 1)]
        return near

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
        assert isinstance(operation.payload, Cuts), operation.op
        return self._meets(operands[0], operands[1], operation.payload, type_)

    def _meets(self, lower: Bounded, upper: Bounded, cuts: Cuts, type_: Type) -> Term:
        """The lower bound is in the set, or a cut lies between the two."""

        def beyond(bound: Bounded, cut: Cut) -> Term:
            place = self.constant(cut[0], type_)
            return place.less(bound.number) if cut[1] else place.at_most(bound.number)

        passed = [z3.And(lower.known, beyond(lower, point)) for point in cuts.points]
        crossed = [
            z3.And(z3.Not(below), z3.Implies(upper.known, beyond(upper, point)))
            for below, point in zip(passed, cuts.points, strict=True)
        ]
        inside = z3.BoolVal(cuts.first)
        for below in passed:
            inside = z3.Xor(inside, below)
        return z3.Or(inside, *crossed)

    def _bound(self, program: Program, operation: Operation, operands: list[Any]) -> Bounded:
        type_ = operation.type
        assert type_ is not None
        match operation.op:
            case Op.UNKNOWN:
                return Bounded(z3.BoolVal(False), self.constant(_ANY_VALUE.get(type_.kind, 0), type_))
            case Op.BOUND:
                payload = operation.payload
                assert payload is not None
                assert not isinstance(payload, Input | Cuts | Apply)
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
            case Op.APPLY:
                source, call = program.operations[operation.operands[0]].type, operation.payload
                assert source is not None
                assert isinstance(call, Apply)
                fits, number = self.apply(call, [operand.number for operand in operands], source, type_)
                return Bounded(z3.And(fits, *(operand.known for operand in operands)), number)
        if operation.op in ARITHMETIC:
            types = tuple(program.operations[index].type or type_ for index in operation.operands)
            fits, number = self.compute(operation.op, (types[0], types[1]), type_, *operands)
            return Bounded(fits, number)
        return self._sum(operation.op, type_, operands)

    def compute(
        self, op: Op, types: tuple[Type, Type], type_: Type, left: Bounded, right: Bounded
    ) -> tuple[Term, Number]:
        """Whether an operation on two numbers has a result that fits, and that result."""
        both = z3.And(left.known, right.known)
        if type_.floating and op in (Op.ADD, Op.SUBTRACT):
            fits, total = self.add(left.number, right.number, type_, sign=1 if op is Op.ADD else -1)
            return z3.And(both, fits), total
        arithmetic = Arithmetic(op, types, type_, self._rounded, self.monotony)
        defined, value, sign = arithmetic.of(
            (left.number.value, left.number.sign), (right.number.value, right.number.sign)
        )
        number = Number(value, sign)
        return z3.And(both, defined, self.in_type(number, type_)), number

    def _rounded(self, exact: Term) -> tuple[Term, Term]:
        number = self.rounding.of(exact)
        return number.sign, number.value

    def _sum(self, op: Op, type_: Type, operands: list[Bounded]) -> Bounded:
        assert op in (Op.NEXT, Op.PREVIOUS), op
        one = Number(z3.IntVal(1), z3.IntVal(0))
        fits, total = self.add(operands[0].number, one, type_, sign=1 if op is Op.NEXT else -1)
        return Bounded(z3.And(operands[0].known, fits), total)


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


def _saturated(function: Function, number: Number, target: Type) -> Number:
    """A number down or up to an integer of the type, the last one beyond its limits."""
    whole = z3.ToInt(number.value) if function is Function.FLOOR else -z3.ToInt(-number.value)
    limits = limits_of(target)
    assert limits is not None
    least, greatest = limits
    inside = z3.If(whole < least, least, z3.If(whole > greatest, greatest, whole))
    beyond = z3.If(number.sign < 0, least, greatest)
    return Number(z3.If(number.sign != 0, beyond, inside), z3.IntVal(0))


def _number_if(flag: Term, then: Number, otherwise: Number) -> Number:
    return Number(z3.If(flag, then.value, otherwise.value), z3.If(flag, then.sign, otherwise.sign))


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
