"""Products and quotients of Z3 terms, and axioms of their monotonicity.

Z3 decides little about products of two variables. So each operation is applied to variables themselves,
not to a choice between them, and its monotonicity is stated for those that occur (axioms PRODUCT and
QUOTIENT, theorems of arithmetic that Z3 proves one instance at a time).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from pruning.rules.interpreters.solver.numbers import Term

Operate: TypeAlias = Callable[[Term, Term], Term]


def magnitude(value: Term) -> Term:
    """Return the absolute value."""
    return z3.If(value < 0, -value, value)


def product(left: Term, right: Term) -> Term:
    """Return left * right."""
    return left * right


def ratio(left: Term, right: Term) -> Term:
    """Return left / right of reals."""
    return left / right


def whole(left: Term, right: Term) -> Term:
    """Return the integral part of |left| / |right| of integers."""
    return magnitude(left) / magnitude(right)


def half_up(left: Term, right: Term) -> Term:
    """Return the integer nearest to |left| / |right| of integers, ties upwards."""
    return (2 * magnitude(left) + magnitude(right)) / (2 * magnitude(right))


def rest(left: Term, right: Term) -> Term:
    """Return the remainder of |left| / |right| of reals."""
    return magnitude(left) - magnitude(right) * z3.ToReal(_times(left, right))


def _times(left: Term, right: Term) -> Term:
    """Return the integral part of |left| / |right| of reals."""
    return z3.ToInt(magnitude(left) / magnitude(right))


def signed(size: Term, left: Term, right: Term) -> Term:
    """Return a magnitude with the sign of left / right."""
    return z3.If((left < 0) != (right < 0), -size, size)


def nearest(left: Term, unit: Term) -> Term:
    """Return left / unit rounded half up; the unit is a positive constant."""
    return signed(half_up(left, unit), left, unit)


def quotient(left: Term, right: Term) -> Term:
    """Return an integer division toward zero."""
    return signed(whole(left, right), left, right)


def remainder(left: Term, right: Term) -> Term:
    """Return the remainder of an integer division toward zero."""
    return left - right * quotient(left, right)


def by_parts(operate: Operate, left: Term, right: Term) -> Term:
    """Apply the operation below the `If`s of both terms: to each branch of one with each of the other."""
    for position, term in enumerate((left, right)):
        if z3.is_app_of(term, z3.Z3_OP_ITE):
            condition, then, otherwise = term.children()
            pairs = [(part, right) if position == 0 else (left, part) for part in (then, otherwise)]
            return z3.If(condition, *(by_parts(operate, *pair) for pair in pairs))
    return operate(left, right)


@dataclass(slots=True)
class Monotonicity:
    """The pairs of terms on which each operation is used, for axioms about them."""

    pairs: dict[Operate, list[tuple[Term, Term]]] = field(default_factory=dict)

    def of(self, operate: Operate, left: Term, right: Term) -> Term:
        """Return the operation on two terms, and record them."""
        pairs = self.pairs.setdefault(operate, [])
        if not any(left.eq(first) and right.eq(second) for first, second in pairs):
            pairs.append((left, right))
        return operate(left, right)

    def axioms(self) -> list[Term]:
        """Return the instances of PRODUCT and QUOTIENT for each two terms that met."""
        return [
            axiom
            for operate, pairs in self.pairs.items()
            for axiom in _AXIOMS[operate](
                operate, _distinct(left for left, _ in pairs), _distinct(right for _, right in pairs)
            )
        ]


def _distinct(terms: Any) -> list[Term]:
    """Return the terms without repetitions."""
    kept: list[Term] = []
    for term in terms:
        if not any(term.eq(other) for other in kept):
            kept.append(term)
    return kept


def _product_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return PRODUCT: x <= y gives x * z <= y * z where z >= 0, and the opposite where z <= 0."""
    return [
        *(
            _monotone_in_sign(operate(lesser, by), operate(greater, by), lesser, greater, by)
            for lesser, greater, by in _triples(lefts, rights)
        ),
        *(
            _monotone_in_sign(operate(by, lesser), operate(by, greater), lesser, greater, by)
            for lesser, greater, by in _triples(rights, lefts)
        ),
    ]


def _ratio_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return QUOTIENT: x / z rises with x where z > 0 and falls where z < 0; z / x falls with x."""
    axioms = []
    for lesser, greater, by in _triples(lefts, rights):
        axioms.append(
            z3.Implies(
                by != 0, _monotone_in_sign(operate(lesser, by), operate(greater, by), lesser, greater, by)
            )
        )
    for lesser, greater, by in _triples(rights, lefts):
        same_sign = z3.Or(z3.And(lesser > 0, greater > 0), z3.And(lesser < 0, greater < 0))
        axioms.append(
            z3.Implies(
                same_sign, _monotone_in_sign(operate(by, greater), operate(by, lesser), lesser, greater, by)
            )
        )
    return axioms


def _magnitude_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return QUOTIENT of magnitudes: not negative, rises with the dividend, falls with the divisor."""
    axioms = [z3.Implies(by != 0, operate(dividend, by) >= 0) for dividend in lefts for by in rights]
    for lesser, greater, by in _triples(lefts, rights):
        rises = operate(lesser, by) <= operate(greater, by)
        axioms.append(z3.Implies(z3.And(by != 0, magnitude(lesser) <= magnitude(greater)), rises))
    for lesser, greater, by in _triples(rights, lefts):
        falls = operate(by, greater) <= operate(by, lesser)
        nonzero = z3.And(lesser != 0, greater != 0)
        axioms.append(z3.Implies(z3.And(nonzero, magnitude(lesser) <= magnitude(greater)), falls))
    return axioms


def _nearest_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return QUOTIENT by a positive constant, rounded: it rises with the dividend."""
    return [
        z3.Implies(lesser <= greater, operate(lesser, by) <= operate(greater, by))
        for lesser, greater, by in _triples(lefts, rights)
    ]


def _remainder_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return QUOTIENT: a remainder has the dividend's sign, at most its size, and less than the divisor's."""
    return [
        z3.Implies(
            by != 0,
            z3.And(
                z3.Implies(
                    dividend >= 0, z3.And(operate(dividend, by) >= 0, operate(dividend, by) <= dividend)
                ),
                z3.Implies(
                    dividend <= 0, z3.And(operate(dividend, by) <= 0, operate(dividend, by) >= dividend)
                ),
                magnitude(operate(dividend, by)) < magnitude(by),
            ),
        )
        for dividend in lefts
        for by in rights
    ]


def _rest_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """Return QUOTIENT of magnitudes of reals: a greater one contains the divisor at least as often."""
    rises = [
        z3.Implies(
            z3.And(by != 0, magnitude(lesser) <= magnitude(greater)),
            _times(lesser, by) <= _times(greater, by),
        )
        for lesser, greater, by in _triples(lefts, rights)
    ]
    return rises + [
        z3.Implies(
            by != 0,
            z3.And(
                operate(dividend, by) >= 0,
                operate(dividend, by) <= magnitude(dividend),
                operate(dividend, by) < magnitude(by),
            ),
        )
        for dividend in lefts
        for by in rights
    ]


def _triples(moving: list[Term], fixed: list[Term]) -> list[tuple[Term, Term, Term]]:
    """Return each ordered pair of the moving terms with each of the fixed ones."""
    return [(lesser, greater, by) for lesser, greater in itertools.permutations(moving, 2) for by in fixed]


def _monotone_in_sign(least: Term, greatest: Term, lesser: Term, greater: Term, by: Term) -> Term:
    """Return that an operation rises from `lesser` to `greater`, or falls, by the sign of `by`."""
    return z3.Implies(
        lesser <= greater,
        z3.And(z3.Implies(by >= 0, least <= greatest), z3.Implies(by <= 0, greatest <= least)),
    )


_AXIOMS: dict[Operate, Callable[[Operate, list[Term], list[Term]], list[Term]]] = {
    product: _product_axioms,
    ratio: _ratio_axioms,
    whole: _magnitude_axioms,
    half_up: _magnitude_axioms,
    nearest: _nearest_axioms,
    remainder: _remainder_axioms,
    rest: _rest_axioms,
}
