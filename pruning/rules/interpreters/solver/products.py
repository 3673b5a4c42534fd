"""Products and quotients of Z3 terms, and what is true of them however large they are.

Z3 decides little about products of two variables. So each operation is made of the variables
themselves, not of a choice between them, and its monotony is stated for those that occur (axioms
PRODUCT and QUOTIENT, theorems of arithmetic that Z3 proves one instance at a time).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from pruning.rules.interpreters.solver.numbers import Term

Operate: TypeAlias = Callable[[Term, Term], Term]


def magnitude(value: Term) -> Term:
    """The absolute value."""
    return z3.If(value < 0, -value, value)


def product(left: Term, right: Term) -> Term:
    """left * right."""
    return left * right


def ratio(left: Term, right: Term) -> Term:
    """left / right of reals."""
    return left / right


def whole(left: Term, right: Term) -> Term:
    """The integral part of |left| / |right| of integers."""
    return magnitude(left) / magnitude(right)


def half_up(left: Term, right: Term) -> Term:
    """The integer nearest to |left| / |right| of integers, ties upwards."""
    return (2 * magnitude(left) + magnitude(right)) / (2 * magnitude(right))


def rest(left: Term, right: Term) -> Term:
    """What the division of |left| by |right| leaves, of reals."""
    return magnitude(left) - magnitude(right) * z3.ToReal(_times(left, right))


def _times(left: Term, right: Term) -> Term:
    """How often |right| goes into |left|."""
    return z3.ToInt(magnitude(left) / magnitude(right))


def signed(size: Term, left: Term, right: Term) -> Term:
    """A magnitude with the sign of left / right."""
    return z3.If((left < 0) != (right < 0), -size, size)


def nearest(left: Term, unit: Term) -> Term:
    """left / unit rounded half up; the unit is a positive constant."""
    return signed(half_up(left, unit), left, unit)


def quotient(left: Term, right: Term) -> Term:
    """An integer division toward zero."""
    return signed(whole(left, right), left, right)


def remainder(left: Term, right: Term) -> Term:
    """What an integer division toward zero leaves."""
    return left - right * quotient(left, right)


def by_parts(operate: Operate, left: Term, right: Term) -> Term:
    """The operation on each pair of variables that two choices choose between."""
    for position, term in enumerate((left, right)):
        if z3.is_app_of(term, z3.Z3_OP_ITE):
            condition, then, otherwise = term.children()
            pairs = [(part, right) if position == 0 else (left, part) for part in (then, otherwise)]
            return z3.If(condition, *(by_parts(operate, *pair) for pair in pairs))
    return operate(left, right)


@dataclass(slots=True)
class Monotony:
    """The pairs of terms on which each operation is used, for what is true of it there."""

    pairs: dict[Operate, list[tuple[Term, Term]]] = field(default_factory=dict)

    def of(self, operate: Operate, left: Term, right: Term) -> Term:
        """The operation on two terms."""
        seen = self.pairs.setdefault(operate, [])
        if not any(left.eq(one) and right.eq(other) for one, other in seen):
            seen.append((left, right))
        return operate(left, right)

    def axioms(self) -> list[Term]:
        """The instances of PRODUCT and QUOTIENT for each two terms that met."""
        return [
            axiom
            for operate, pairs in self.pairs.items()
            for axiom in _AXIOMS[operate](
                operate, _distinct(left for left, _ in pairs), _distinct(right for _, right in pairs)
            )
        ]


def _distinct(terms: Any) -> list[Term]:
    kept: list[Term] = []
    for term in terms:
        if not any(term.eq(other) for other in kept):
            kept.append(term)
    return kept


def _product_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """PRODUCT: x <= y gives x * z <= y * z where z >= 0, and the opposite where z <= 0."""
    return [
        *(
            _rising(operate(one, by), operate(other, by), one, other, by)
            for one, other, by in _triples(lefts, rights)
        ),
        *(
            _rising(operate(by, one), operate(by, other), one, other, by)
            for one, other, by in _triples(rights, lefts)
        ),
    ]


def _ratio_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """QUOTIENT: x / z rises with x where z > 0 and falls where z < 0; z / x the other way round in x."""
    axioms = []
    for one, other, by in _triples(lefts, rights):
        axioms.append(z3.Implies(by != 0, _rising(operate(one, by), operate(other, by), one, other, by)))
    for one, other, by in _triples(rights, lefts):
        same_sign = z3.Or(z3.And(one > 0, other > 0), z3.And(one < 0, other < 0))
        axioms.append(z3.Implies(same_sign, _rising(operate(by, other), operate(by, one), one, other, by)))
    return axioms


def _magnitude_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """QUOTIENT of magnitudes, integral or rounded: not negative, rises with one, falls with the other."""
    axioms = [z3.Implies(by != 0, operate(one, by) >= 0) for one in lefts for by in rights]
    for one, other, by in _triples(lefts, rights):
        rises = operate(one, by) <= operate(other, by)
        axioms.append(z3.Implies(z3.And(by != 0, magnitude(one) <= magnitude(other)), rises))
    for one, other, by in _triples(rights, lefts):
        falls = operate(by, other) <= operate(by, one)
        nonzero = z3.And(one != 0, other != 0)
        axioms.append(z3.Implies(z3.And(nonzero, magnitude(one) <= magnitude(other)), falls))
    return axioms


def _nearest_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """QUOTIENT by a positive constant, rounded: it rises with the dividend."""
    return [
        z3.Implies(one <= other, operate(one, by) <= operate(other, by))
        for one, other, by in _triples(lefts, rights)
    ]


def _remainder_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """QUOTIENT: a remainder is below the divisor and not above the dividend, in magnitude; with its sign."""
    return [
        z3.Implies(
            by != 0,
            z3.And(
                z3.Implies(one >= 0, z3.And(operate(one, by) >= 0, operate(one, by) <= one)),
                z3.Implies(one <= 0, z3.And(operate(one, by) <= 0, operate(one, by) >= one)),
                magnitude(operate(one, by)) < magnitude(by),
            ),
        )
        for one in lefts
        for by in rights
    ]


def _rest_axioms(operate: Operate, lefts: list[Term], rights: list[Term]) -> list[Term]:
    """QUOTIENT, of magnitudes of reals; a greater one holds the divisor no less often."""
    rises = [
        z3.Implies(z3.And(by != 0, magnitude(one) <= magnitude(other)), _times(one, by) <= _times(other, by))
        for one, other, by in _triples(lefts, rights)
    ]
    return rises + [
        z3.Implies(
            by != 0,
            z3.And(
                operate(one, by) >= 0, operate(one, by) <= magnitude(one), operate(one, by) < magnitude(by)
            ),
        )
        for one in lefts
        for by in rights
    ]


def _triples(moving: list[Term], fixed: list[Term]) -> list[tuple[Term, Term, Term]]:
    return [(one, other, by) for one, other in itertools.permutations(moving, 2) for by in fixed]


def _rising(least: Term, greatest: Term, one: Term, other: Term, by: Term) -> Term:
    """From `one` to `other`, in the direction that the sign of `by` tells."""
    return z3.Implies(
        one <= other,
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
