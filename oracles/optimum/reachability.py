"""Reachability: a search with Z3 for a row within bounds that gives an expression a truth value.

Shares   the expression trees and `oracles.symbolic.evaluation`'s meaning of them; no rule, no range, no
         program.
Trusts   Z3 where it finds no row: the symbolic meaning omits no row, it only adds some.
Removes  doubt where Z3 finds a row: the row is evaluated by `oracles.meaning.brute_force`.
Leaves   rows that exist only in the symbolic meaning, or that Z3 cannot find: undecided, never called
         impossible or possible.

Floats are reals, each rounded by a function that is monotone, keeps 0 and the literals and bounds, and errs
by at most half a unit in the last place. Strings are places: between two constants there is room for as many
as exist, or for more than there are columns.
"""

import itertools
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeGuard

import z3

from oracles.optimum.domains import Cell, CellFacts, end_places, value_at
from oracles.symbolic.evaluation import Ideals, Meaning, SymbolicValue
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Expression, Literal, type_of
from pruning.expressions.types import BYTES, DOUBLE, FLOAT, Type, Value

Term: TypeAlias = Any  # z3 has no types of its own
Row: TypeAlias = dict[str, Cell]

_ROOM = 16  # strings in a gap that has infinitely many; more than any expression has columns
_NO, _ZERO = z3.BoolVal(False), z3.IntVal(0)
_MAX = {False: Fraction(1.7976931348623157e308), True: Fraction((2 - 2.0**-23) * 2.0**127)}
_EPSILON = {False: Fraction(1, 2**53), True: Fraction(1, 2**24)}
_TINY = {False: Fraction(1, 2**1074), True: Fraction(1, 2**149)}


class TimedOut(Exception):
    """Z3 did not answer in time."""


@dataclass(slots=True)
class Search:
    """The search for one expression, for any number of blocks.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: The expression has no symbolic meaning.
    """

    expression: Expression
    timeout_ms: int = 2_000
    _texts: dict[bytes, Term] = field(default_factory=dict)
    _rounded: list[tuple[Term, Term, Term]] = field(default_factory=list)
    _row: dict[str, SymbolicValue] = field(init=False)
    _outcome: SymbolicValue = field(init=False)
    _solver: Any = field(init=False)

    def __post_init__(self) -> None:
        self._row = {name: _variable(name, type_) for name, type_ in columns(self.expression).items()}
        meaning = Meaning(self._row, Ideals(self._place, self._round))
        self._outcome = meaning.of(self.expression)
        self._solver = z3.Solver()
        self._solver.set("timeout", self.timeout_ms)
        self._solver.add(*meaning.assumptions, z3.Not(self._outcome.raises), *self._rounding_terms())

    def row(self, facts: Mapping[str, CellFacts], truth: bool | None) -> Row | None:
        """Return a row that gives the truth value according to Z3; None if there is none.

        Raises:
            TimedOut: Z3 does not know.
        """
        places = self._places(facts)
        self._solver.push()
        try:
            for name, outcome in self._row.items():
                self._solver.add(*_cell_terms(outcome, facts[name], places))
            self._solver.add(*(term == places[text] for text, term in self._texts.items()))
            self._solver.add(*self._mark_terms(facts), _has_truth(self._outcome, truth))
            answer = self._solver.check()
            if answer == z3.unknown:
                raise TimedOut(self._solver.reason_unknown())
            return None if answer == z3.unsat else self._read(self._solver.model(), facts, places)
        finally:
            self._solver.pop()

    def _place(self, text: bytes) -> Term:
        return self._texts.setdefault(text, z3.Int(f"place of {text.hex()}"))

    def _round(self, exact: Term) -> tuple[Term, Term]:
        number = len(self._rounded)
        self._rounded.append((exact, z3.Int(f"rounded sign {number}"), z3.Real(f"rounded {number}")))
        return self._rounded[-1][1:]

    def _has(self, type_: Type) -> bool:
        return any(type_of(node) == type_ for node in walk(self.expression))

    @property
    def _has_float32(self) -> bool:
        """True if a value may be rounded to 32 bits; the looser of two roundings serves for both."""
        return self._has(FLOAT)

    def _rounding_terms(self) -> list[Term]:
        """Return terms: rounding errs by half a unit in the last place, and keeps order if uniform."""
        terms: list[Term] = []
        greatest, tiny = _real(_MAX[False]), _real(_TINY[self._has_float32])
        epsilon = _real(_EPSILON[self._has_float32])
        for exact, sign, value in self._rounded:
            size, error = z3.If(exact < 0, -exact, exact), value - exact
            allowed = size * epsilon + tiny
            terms += [sign >= -1, sign <= 1, z3.Implies(sign != 0, sign == z3.If(exact < 0, -1, 1))]
            terms += [z3.Implies(sign == 0, z3.And(error <= allowed, -error <= allowed))]
            terms += [z3.Implies(sign != 0, size >= _real(_MAX[self._has_float32]))]
            terms += [z3.Implies(sign == 0, z3.And(value <= greatest, -greatest <= value))]
        alike = [] if self._has(FLOAT) and self._has(DOUBLE) else self._rounded
        for index, (exact, sign, value) in enumerate(alike):
            for other, other_sign, other_value in alike[index + 1 :]:
                below = z3.Or(sign < other_sign, z3.And(sign == other_sign, value <= other_value))
                above = z3.Or(other_sign < sign, z3.And(sign == other_sign, other_value <= value))
                terms += [z3.Implies(exact <= other, below), z3.Implies(other <= exact, above)]
        return terms

    def _mark_terms(self, facts: Mapping[str, CellFacts]) -> list[Term]:
        """Return terms by which rounding keeps the side of each literal and bound that it does not change."""
        if not self._rounded:
            return []
        literals = [node.value for node in walk(self.expression) if isinstance(node, Literal)]
        bounds = [side for column in facts.values() for side in (column.lower, column.upper)]
        kept = {
            0.0,
            *(mark for mark in (*literals, *bounds) if _is_kept_by_rounding(mark, narrow=self._has_float32)),
        }
        terms: list[Term] = []
        for exact, sign, value in self._rounded:
            for mark in kept:
                point = _real(Fraction(mark))
                terms.append(z3.Implies(exact >= point, z3.Or(sign > 0, z3.And(sign == 0, value >= point))))
                terms.append(z3.Implies(exact <= point, z3.Or(sign < 0, z3.And(sign == 0, value <= point))))
        return terms

    def _places(self, facts: Mapping[str, CellFacts]) -> dict[bytes, int]:
        """Return the place of each constant string; gaps hold the strings in between, at most `_ROOM`."""
        bounds = [side for column in facts.values() for side in (column.lower, column.upper)]
        texts = sorted({b"", *self._texts, *(bound for bound in bounds if isinstance(bound, bytes))})
        places = {b"": 0}
        for before, text in itertools.pairwise(texts):
            zeros = text[len(before) :]
            successor = text.startswith(before) and not zeros.strip(b"\0")
            places[text] = places[before] + (min(len(zeros), _ROOM) if successor else _ROOM)
        return places

    def _read(self, model: Any, facts: Mapping[str, CellFacts], places: Mapping[bytes, int]) -> Row:
        return {name: _cell(model, outcome, facts[name], places) for name, outcome in self._row.items()}


def _variable(name: str, type_: Type) -> SymbolicValue:
    number = z3.Real(f"{name} value") if type_.floating else z3.Int(f"{name} value")
    return SymbolicValue(
        raises=_NO,
        null=z3.Bool(f"{name} is NULL"),
        nan=z3.Bool(f"{name} is NaN") if type_.floating else _NO,
        value=number,
        sign=z3.Int(f"{name} sign") if type_.floating else _ZERO,
    )


def _cell_terms(cell: SymbolicValue, facts: CellFacts, places: Mapping[bytes, int]) -> list[Term]:
    """Return terms by which a cell is one that the facts allow."""
    plain = z3.And(z3.Not(cell.null), z3.Not(cell.nan))
    inside = [z3.BoolVal(facts.may_value)]
    if facts.may_value and facts.type.kind in BYTES:
        inside.append(cell.value >= 0)
        inside += [cell.value >= places[facts.lower]] if isinstance(facts.lower, bytes) else []
        inside += [cell.value <= places[facts.upper]] if isinstance(facts.upper, bytes) else []
    elif facts.may_value and facts.type.floating:
        inside += _float_terms(cell, facts)
    elif facts.may_value:
        low, high = end_places(facts)
        inside += [cell.value >= low, cell.value <= high]
    null = z3.Implies(cell.null, z3.And(facts.may_null, z3.Not(cell.nan)))
    return [null, z3.Implies(cell.nan, facts.may_nan), z3.Implies(plain, z3.And(*inside))]


def _float_terms(cell: SymbolicValue, facts: CellFacts) -> list[Term]:
    greatest = _real(_MAX[facts.type == FLOAT])
    terms = [cell.sign >= -1, cell.sign <= 1, cell.value <= greatest, -greatest <= cell.value]
    for bound, side in ((facts.lower, 1), (facts.upper, -1)):
        if not isinstance(bound, float):
            continue
        if math.isinf(bound):
            terms += [cell.sign == side] if (bound > 0) == (side > 0) else []
            continue
        point = _real(Fraction(bound))
        beyond = cell.value >= point if side > 0 else cell.value <= point
        terms.append(z3.Or(cell.sign == side, z3.And(cell.sign == 0, beyond)))
    return terms


def _has_truth(outcome: SymbolicValue, truth: bool | None) -> Term:
    return outcome.null if truth is None else outcome.true if truth else outcome.false


def _real(exact: Fraction) -> Term:
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")


def _is_kept_by_rounding(mark: Value | None, *, narrow: bool) -> TypeGuard[int | float | Decimal]:
    """Tell whether a literal or bound is a number that rounding does not change."""
    if mark is None or isinstance(mark, bytes | bool):
        return False
    if isinstance(mark, float):
        exact = math.isfinite(mark)
        return exact and (not narrow or struct.unpack("<f", struct.pack("<f", _clamp(mark)))[0] == mark)
    return mark == int(mark) and abs(int(mark)) <= 2**24


def _clamp(value: float) -> float:
    limit = float(_MAX[True])
    return min(max(value, -limit), limit)


def _cell(model: Any, cell: SymbolicValue, facts: CellFacts, places: Mapping[bytes, int]) -> Cell:
    """Return the value of a column in the model, as a row holds it."""
    if z3.is_true(model.eval(cell.null, model_completion=True)):
        return None
    if z3.is_true(model.eval(cell.nan, model_completion=True)):
        return math.nan
    number = model.eval(cell.value, model_completion=True)
    if facts.type.floating:
        sign = model.eval(cell.sign, model_completion=True).as_long()
        return sign * math.inf if sign else _nearest(number, facts)
    place = int(number.as_long())
    if facts.type.kind not in BYTES:
        return value_at(place, facts.type)
    start = max((text for text in places if places[text] <= place), key=lambda text: (places[text], text))
    return start + b"\0" * (place - places[start])


def _nearest(number: Any, facts: CellFacts) -> float:
    """Return a real of the model as the nearest float within the bounds."""
    exact = number.as_fraction() if z3.is_rational_value(number) else number.approx(20).as_fraction()
    value = float(Fraction(exact))
    if facts.type == FLOAT:
        value = struct.unpack("<f", struct.pack("<f", _clamp(value)))[0]
    low = facts.lower if isinstance(facts.lower, float) else -math.inf
    high = facts.upper if isinstance(facts.upper, float) else math.inf
    return min(max(value, low), high)
