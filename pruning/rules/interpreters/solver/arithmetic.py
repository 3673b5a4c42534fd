"""The meaning of `+ - * / div %` on Z3 terms: the number, and whether there is one; it may not fit."""

from collections.abc import Callable
from dataclasses import dataclass

import z3

from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.solver import products
from pruning.rules.interpreters.solver.numbers import Term
from pruning.rules.interpreters.solver.products import Monotonicity, by_parts
from pruning.rules.program.operations import Op


@dataclass(frozen=True, slots=True)
class SolverArithmetic:
    """One operation on operands of two types.

    Attributes:
        rounded: Returns the sign (-1 and 1 are infinities, 0 is finite) and the value of a rounded real.
        monotony: Records products and quotients, for axioms about them.
    """

    op: Op
    types: tuple[Type, Type]
    type: Type
    rounded: Callable[[Term], tuple[Term, Term]]
    monotony: Monotonicity

    def of(self, left: tuple[Term, Term], right: tuple[Term, Term]) -> tuple[Term, Term, Term]:
        """Return whether there is a result, its value and its sign, of operands of values and signs."""
        if self.type.floating:
            return self._floats(left, right)
        exact = by_parts(self._exact, left[0], right[0])
        some = z3.BoolVal(True) if self._defined_at_zero else right[0] != 0
        return some, exact, z3.IntVal(0)

    @property
    def _defined_at_zero(self) -> bool:
        """True if the operation is defined for a right operand of zero."""
        return self.op in (Op.ADD, Op.SUBTRACT, Op.MULTIPLY)

    def _exact(self, left: Term, right: Term) -> Term:
        """Return the result of integers, or of decimals as unscaled integers."""
        own = [type_.scale for type_ in self.types]
        if self.op is Op.MULTIPLY:
            return self._rescale(self.monotony.of(products.product, left, right), sum(own))
        scale = max(own)
        if self.types[0].kind is Kind.DECIMAL:
            left, right = left * 10 ** (scale - own[0]), right * 10 ** (scale - own[1])
        match self.op:
            case Op.ADD:
                return self._rescale(left + right, scale)
            case Op.SUBTRACT:
                return self._rescale(left - right, scale)
            case Op.DIVIDE:
                left = left * 10**self.type.scale
                return products.signed(self.monotony.of(products.half_up, left, right), left, right)
            case Op.QUOTIENT:
                return products.signed(self.monotony.of(products.whole, left, right), left, right)
        assert self.op is Op.REMAINDER, self.op
        self.monotony.of(products.whole, left, right)
        return self._rescale(self.monotony.of(products.remainder, left, right), scale)

    def _rescale(self, exact: Term, scale: int) -> Term:
        """Return a decimal result at the scale of its type."""
        if self.type.kind is not Kind.DECIMAL:
            return exact
        if self.type.scale >= scale:
            return exact * 10 ** (self.type.scale - scale)
        unit = z3.IntVal(10 ** (scale - self.type.scale))
        return self.monotony.of(products.nearest, exact, unit)

    def _floats(self, left: tuple[Term, Term], right: tuple[Term, Term]) -> tuple[Term, Term, Term]:
        """Return whether there is a result of floats, its value and its sign."""
        sign, value = (by_parts(self._rounded_part(part), left[0], right[0]) for part in (0, 1))
        infinite = z3.Or(left[1] != 0, right[1] != 0)
        match self.op:
            case Op.MULTIPLY:
                direction = _same_sign(_direction(left), _direction(right))
                undefined = z3.And(infinite, direction == 0)
                return z3.Not(undefined), value, z3.If(infinite, direction, sign)
            case Op.DIVIDE:
                undefined = z3.Or(_direction(right) == 0, z3.And(left[1] != 0, right[1] != 0))
                beyond = z3.If(left[1] != 0, _same_sign(left[1], _direction(right)), sign)
                return (
                    z3.Not(undefined),
                    z3.If(right[1] != 0, 0, value),
                    z3.If(right[1] != 0, z3.IntVal(0), beyond),
                )
        assert self.op is Op.REMAINDER, self.op
        undefined = z3.Or(_direction(right) == 0, left[1] != 0)
        return z3.Not(undefined), z3.If(right[1] != 0, left[0], value), z3.IntVal(0)

    def _rounded_part(self, part: int) -> Callable[[Term, Term], Term]:
        """Return a function to the sign or the value of a result of finite operands."""

        def of(left: Term, right: Term) -> Term:
            """Return the part of the result of two finite operands."""
            if self.op is Op.REMAINDER:
                size = self.monotony.of(products.rest, left, right)
                return z3.If(left < 0, -size, size) if part else z3.IntVal(0)
            operate = products.product if self.op is Op.MULTIPLY else products.ratio
            return self.rounded(self.monotony.of(operate, left, right))[part]

        return of


def _direction(number: tuple[Term, Term]) -> Term:
    """Return -1 below zero, 1 above, else 0; of infinities too."""
    value, sign = number
    return z3.If(sign != 0, sign, z3.If(value > 0, 1, z3.If(value < 0, -1, 0)))


def _same_sign(left: Term, right: Term) -> Term:
    """Return the product of two directions."""
    return z3.If(right > 0, left, z3.If(right < 0, -left, z3.IntVal(0)))
