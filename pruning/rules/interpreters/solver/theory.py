"""The axioms of proofs beyond arithmetic: the order of bytes, rounding, and real functions."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

import z3

from pruning.expressions.types import BYTES, DOUBLE, Kind, Type, Value
from pruning.rules.interpreters.solver import facts as solver_facts
from pruning.rules.interpreters.solver.facts import real
from pruning.rules.interpreters.solver.functions import RealFunctions
from pruning.rules.interpreters.solver.languages import Languages
from pruning.rules.interpreters.solver.numbers import Number, Term, limits_of, unscaled_integer
from pruning.rules.interpreters.solver.products import Monotonicity, ratio, rest
from pruning.rules.interpreters.solver.times import TimeSteps
from pruning.rules.sets.languages import Language

LOGARITHMS = frozenset({"ln", "log10", "log2", "log1p", "log"})  # defined from the next float on


@dataclass(slots=True)
class Ordering:
    """The places of byte strings in their total order, as far as a proof names them.

    Each constant is an integer variable; `axioms` says where they lie.
    """

    places: dict[bytes, Term] = field(default_factory=dict)

    def place(self, value: bytes) -> Term:
        """Return the term that represents one byte string."""
        return self.places.setdefault(value, z3.Int(f"bytes {value.hex()}"))

    def axioms(self) -> list[Term]:
        """Return ORDER: constants ascend with their bytes. SUCCESSOR: none lies between s and s + 0x00."""
        ascending = sorted(self.places)
        in_order = [self.places[low] < self.places[high] for low, high in itertools.pairwise(ascending)]
        adjacent = [
            self.places[value + b"\0"] == self.places[value] + 1
            for value in ascending
            if value + b"\0" in self.places
        ]
        return in_order + adjacent


@dataclass(slots=True)
class Rounding:
    """Rounding of exact sums to floats: any monotone function, which may reach the infinities.

    Attributes:
        keeps_integers: Whether proofs use that doubles hold integers; only where all floats are doubles.
    """

    sign: Term = field(default_factory=lambda: z3.Function("rounded sign", z3.RealSort(), z3.IntSort()))
    value: Term = field(default_factory=lambda: z3.Function("rounded", z3.RealSort(), z3.RealSort()))
    arguments: list[Term] = field(default_factory=list)
    keeps_integers: bool = False

    def of(self, exact: Term) -> Number:
        """Return the rounded value of a finite exact one."""
        if not any(exact.eq(argument) for argument in self.arguments):
            self.arguments.append(exact)
        return Number(self.value(exact), self.sign(exact))

    def axioms(self) -> list[Term]:
        """Return ROUNDING: a <= b gives round(a) <= round(b), for each two in use; zero stays zero."""
        rounded = [(exact, Number(self.value(exact), self.sign(exact))) for exact in self.arguments]
        monotone = [
            z3.Implies(low <= high, low_rounded.at_most(high_rounded))
            for low, low_rounded in rounded
            for high, high_rounded in rounded
            if low is not high
        ]
        signs = [z3.And(number.sign >= -1, number.sign <= 1) for _, number in rounded]
        zeros = [
            z3.Implies(exact == 0, z3.And(number.sign == 0, number.value == 0)) for exact, number in rounded
        ]
        return monotone + signs + zeros + (self._integers_kept() if self.keeps_integers else [])

    def _integers_kept(self) -> list[Term]:
        """Return KEPT: rounding to a double keeps integers of up to 53 bits."""
        return [
            z3.Implies(
                z3.And(z3.IsInt(exact), exact >= -(2**53), exact <= 2**53),
                z3.And(self.sign(exact) == 0, self.value(exact) == exact),
            )
            for exact in self.arguments
        ]


@dataclass(slots=True)
class Theory:
    """The values that one proof names, and the axioms about them.

    Attributes:
        constants: The numbers at and next to which `_facts` gives the results of rounding.
        variables: The floats that may have any value.
        narrows: Whether a rule computed limits of its own by the exact primitives.
    """

    ordering: Ordering = field(default_factory=Ordering)
    rounding: Rounding = field(default_factory=Rounding)
    functions: RealFunctions = field(default_factory=RealFunctions)
    monotony: Monotonicity = field(default_factory=Monotonicity)
    languages: Languages = field(default_factory=Languages)
    times: TimeSteps = field(default_factory=TimeSteps)
    constants: set[tuple[float | Decimal, Type]] = field(default_factory=set)
    variables: list[tuple[Number, Type]] = field(default_factory=list)
    narrows: bool = False

    def axioms(self) -> list[Term]:
        """Return the axioms of the proofs; call it when every term has been made."""
        facts = self._facts() + self._floats_kept()
        functions = self.functions.axioms()  # first: they may name more points
        texts = self.ordering.axioms() + self.languages.axioms(self.ordering.places)
        numbers = self.rounding.axioms() + functions + facts + self.monotony.axioms()
        return texts + numbers + self.times.axioms()

    def language(self, language: Language) -> Callable[[Term], Term]:
        """Return the predicate on places that the string there is in the language."""
        return self.languages.predicate(language)

    def _floats_kept(self) -> list[Term]:
        """Return KEPT: rounding keeps named floats. SMALLEST: none lies nearer to zero than one of them.

        Only quotients of floats only, in such a proof whose columns of floats are of one width.
        """
        widths = {type_ for _, type_ in self.variables}
        if {ratio, rest}.isdisjoint(self.monotony.pairs) or len(widths) != 1:
            return []
        (width,) = widths
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
        """Return the results of rounding and texts at the constants of rules that narrow, and next to them.

        NEIGHBOURS: no float lies between two adjacent ones.
        """
        terms: list[Term] = []
        if not (self.narrows or self.functions.points):
            return terms
        narrows = self.narrows or not LOGARITHMS.isdisjoint(self.functions.points)
        self.constants |= {(0.0, DOUBLE), (1.0, DOUBLE)}
        for value, type_ in sorted(self.constants, key=repr):
            beside = solver_facts.neighbours(value, type_) if narrows else [value]
            gaps = [(real(low), real(high)) for low, high in itertools.pairwise(beside)]
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
        """Return a literal value as a term; not NaN."""
        if isinstance(value, bytes):
            return Number(self.ordering.place(value), z3.IntVal(0))
        if type_.floating:
            if math.isinf(value):
                return Number(z3.RealVal(0), z3.IntVal(1 if value > 0 else -1))
            self.constants.add((float(value), type_))
            return Number(z3.RealVal(str(Decimal(value))), z3.IntVal(0))
        if isinstance(value, Decimal):
            self.constants.add((value, type_))
        return Number(z3.IntVal(unscaled_integer(value, type_)), z3.IntVal(0))

    def variable(self, name: str, type_: Type) -> Number:
        """Return an arbitrary value of a type as a term."""
        if type_.floating:
            number = Number(z3.Real(name), z3.Int(f"{name} sign"))
            self.variables.append((number, type_))
            return number
        return Number(z3.Int(name), z3.IntVal(0))

    def in_type(self, number: Number, type_: Type) -> Term:
        """Return that a number is a value of the type."""
        if type_.floating:
            return z3.And(number.sign >= -1, number.sign <= 1)
        if type_.kind in BYTES:
            return number.value >= self.ordering.place(b"")  # the least of all
        limits = limits_of(type_)
        return True if limits is None else z3.And(number.value >= limits[0], number.value <= limits[1])
