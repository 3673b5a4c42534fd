"""Runs a program on Z3 terms, so that a proof covers *all* blocks at once (symbolic execution).

Values are ideal. Integers, dates, timestamps and unscaled decimals are Z3 integers. Strings and binaries
are integers too, their places in the total order of bytes (the rules use only that order and membership in
languages). A float is a real or an infinity, and rounding is any monotone function. A proof therefore
holds modulo the primitives, which are tested against these ideals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.rules.interpreters.solver.arithmetic import SolverArithmetic
from pruning.rules.interpreters.solver.calls import apply
from pruning.rules.interpreters.solver.casts import cast
from pruning.rules.interpreters.solver.numbers import Bounded, Cell, Number, Term
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.program.exact_arithmetic import ARITHMETIC
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Input, Op, Operation, Program
from pruning.rules.sets.cuts import Cut, Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values

_ANY_VALUE: dict[Kind, Value] = dict.fromkeys(BYTES, b"")


@dataclass(slots=True)
class Solver:
    """Runs programs over one theory, so that several share their strings and rounding."""

    theory: Theory = field(default_factory=Theory)

    def run(self, program: Program, inputs: Mapping[Input, Cell]) -> tuple[Cell, ...]:
        """Return the program's outputs, in order, over the terms of its inputs."""
        cells: list[Cell] = []
        for operation in program.operations:
            operands = [cells[index] for index in operation.operands]
            cells.append(self._step(program, operation, operands, inputs))
        return tuple(cells[index] for index in program.outputs)

    def _step(
        self, program: Program, operation: Operation, operands: list[Cell], inputs: Mapping[Input, Cell]
    ) -> Cell:
        """Return the term of one operation."""
        payload = operation.payload
        if isinstance(payload, Input):
            return inputs[payload]
        if operation.type is None:
            return self._flag(program, operation, operands)
        return self._bound(program, operation, operands)

    def _flag(self, program: Program, operation: Operation, operands: list[Any]) -> Term:
        """Return the term of an operation that gives a flag."""
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
        assert isinstance(operation.payload, Cuts | Language), operation.op
        return self.meets(operands[0], operands[1], operation.payload, type_)

    def meets(self, lower: Bounded, upper: Bounded, values: Values, type_: Type) -> Term:
        """Return that [lower, upper] may hold a value of a set."""
        if isinstance(values, Language):
            return self.theory.languages.meets(lower, upper, values)
        return self._crosses(lower, upper, values, type_)

    def _crosses(self, lower: Bounded, upper: Bounded, cuts: Cuts, type_: Type) -> Term:
        """Return that the lower bound is in the set, or a cut lies between the two bounds."""

        def beyond(bound: Bounded, cut: Cut) -> Term:
            """Return that a bound lies above a cut."""
            place = self.theory.constant(cut[0], type_)
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
        """Return the term of an operation that gives a bound."""
        type_ = operation.type
        assert type_ is not None
        match operation.op:
            case Op.UNKNOWN:
                return Bounded(z3.BoolVal(False), self.theory.constant(_ANY_VALUE.get(type_.kind, 0), type_))
            case Op.BOUND:
                payload = operation.payload
                assert payload is not None
                assert not isinstance(payload, Input | Cuts | Language | Apply)
                return Bounded(z3.BoolVal(True), self.theory.constant(payload, type_))
            case Op.CHOOSE:
                flag, then, otherwise = operands
                chosen: Bounded = then.choose(flag, otherwise)
                return chosen
            case Op.LEAST | Op.GREATEST | Op.LEAST_KNOWN | Op.GREATEST_KNOWN:
                return _extreme(operation.op, *operands)
            case Op.CAST:
                source = program.operations[operation.operands[0]].type
                assert source is not None
                fits, number = cast(self.theory, operands[0].number, source, type_)
                return Bounded(z3.And(operands[0].known, fits), number)
            case Op.APPLY:
                source, call = program.operations[operation.operands[0]].type, operation.payload
                assert source is not None
                assert isinstance(call, Apply)
                fits, number = apply(
                    self.theory, call, [operand.number for operand in operands], source, type_
                )
                return Bounded(z3.And(fits, *(operand.known for operand in operands)), number)
        if operation.op in ARITHMETIC:
            types = tuple(program.operations[index].type or type_ for index in operation.operands)
            fits, number = self.compute(operation.op, (types[0], types[1]), type_, *operands)
            return Bounded(fits, number)
        return self._neighbour(operation.op, type_, operands)

    def compute(
        self, op: Op, types: tuple[Type, Type], type_: Type, left: Bounded, right: Bounded
    ) -> tuple[Term, Number]:
        """Return whether an operation on two numbers has a result that fits, and that result."""
        both = z3.And(left.known, right.known)
        if type_.floating and op in (Op.ADD, Op.SUBTRACT):
            fits, total = self._add(left.number, right.number, type_, sign=1 if op is Op.ADD else -1)
            return z3.And(both, fits), total
        arithmetic = SolverArithmetic(op, types, type_, self._round, self.theory.monotony)
        defined, value, sign = arithmetic.of(
            (left.number.value, left.number.sign), (right.number.value, right.number.sign)
        )
        number = Number(value, sign)
        return z3.And(both, defined, self.theory.in_type(number, type_)), number

    def _round(self, exact: Term) -> tuple[Term, Term]:
        """Return the sign and the value of a rounded real."""
        number = self.theory.rounding.of(exact)
        return number.sign, number.value

    def _neighbour(self, op: Op, type_: Type, operands: list[Bounded]) -> Bounded:
        """Return the next or the previous value."""
        assert op in (Op.NEXT, Op.PREVIOUS), op
        unit = Number(z3.IntVal(1), z3.IntVal(0))
        fits, total = self._add(operands[0].number, unit, type_, sign=1 if op is Op.NEXT else -1)
        return Bounded(z3.And(operands[0].known, fits), total)

    def _add(self, left: Number, right: Number, type_: Type, *, sign: int) -> tuple[Term, Number]:
        """Return whether `left + sign * right` is a value of the type, and that value."""
        exact = left.value + sign * right.value
        if not type_.floating:
            total = Number(exact, z3.IntVal(0))
            return self.theory.in_type(total, type_), total
        # Zero minus a float is a float, without rounding.
        rounded = right.times_sign(sign) if left.is_zero else self.theory.rounding.of(exact)
        right_sign = sign * right.sign
        infinite = z3.If(left.sign != 0, left.sign, right_sign)
        finite = z3.And(left.sign == 0, right.sign == 0)
        total = Number(rounded.value, z3.If(finite, rounded.sign, infinite))
        return z3.Not(z3.And(left.sign != 0, right_sign == -left.sign)), total


def _unless_known(operands: list[Any], holds: Term) -> Term:
    """Return a comparison that holds if an operand is unknown."""
    return z3.Implies(z3.And(operands[0].known, operands[1].known), holds)


def _extreme(op: Op, left: Bounded, right: Bounded) -> Bounded:
    """Return the least or the greatest of two bounds."""
    smallest = op in (Op.LEAST, Op.LEAST_KNOWN)
    first = left.number.less(right.number) if smallest else right.number.less(left.number)
    if op in (Op.LEAST, Op.GREATEST):
        return Bounded(z3.And(left.known, right.known), left.number.choose(first, right.number))
    takes_left = z3.And(left.known, z3.Or(z3.Not(right.known), first))
    return Bounded(z3.Or(left.known, right.known), left.number.choose(takes_left, right.number))
