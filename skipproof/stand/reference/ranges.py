"""The range of values that an expression may have on some rows, from the facts about its columns."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from skipproof.stand.reference.evaluating import Schema, columns_of, function, type_of
from skipproof.stand.reference.statistics import Facts, StatisticsRules
from skipproof.stand.reference.values import NAN, Nan, Value, from_json, is_float, is_integer, wrap_integer
from strategies.engines.engine_values import integer_range
from strategies.engines.functions import STRICT, TRUNCATIONS
from strategies.engines.questions import Json

Lookup: TypeAlias = Callable[[str], Facts]

# The arithmetic with a constant of which the range is known.
_RANGED = ("+", "-", "*", "%")
# The functions that keep the order of their first operand; the others are constants, of `//` a positive one.
_RISING = ("//", ">>", "year", *TRUNCATIONS, "cast")
# Those of floating point, which rounds in order; the constant is positive.
_RISING_FLOATS = ("+", "-", "*", "/")
TRUE, FALSE, NULL = 1, 2, 4
ANY = TRUE | FALSE | NULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The values that an expression may have; NaN is the greatest.

    Attributes:
        lower, upper: The bounds; None is no bound.
        exact: Whether both bounds are values of rows.
        nulls, values: Whether some row may be NULL, and whether some row may be another value.
    """

    lower: Value = None
    upper: Value = None
    exact: bool = False
    nulls: bool = True
    values: bool = True


class RangeRules(StatisticsRules):
    """The rules for ranges of expressions; a mutant replaces one of the methods."""

    def range_of(self, term: Json, lookup: Lookup) -> Range:
        """Return the range of an expression."""
        if "column" in term:
            return self.column_range(lookup(term["column"]))
        if "literal" in term:
            return self.point(from_json(term["literal"], term["type"]))
        name, of = term["call"], term["of"]
        if name in _RANGED and "literal" in of[1] and not is_float(of[1]["type"]):
            return self.arithmetic_range(name, self.range_of(of[0], lookup), of[1])
        if self.is_of_one_operand(term):
            return self.function_range(term, lookup)
        if name in ("cast", "try cast"):
            return self.cast_range(term, self.range_of(of[0], lookup))
        if name == "nullif":
            return self.nullif_range(self.range_of(of[0], lookup))
        if name == "coalesce":
            return self.coalesce_range(self.range_of(of[0], lookup), self.range_of(of[1], lookup))
        if name == "if":
            return self.if_range(term, lookup)
        return Range()

    def point(self, value: Value) -> Range:
        """Return the range of one value or NULL."""
        return Range(lower=value, upper=value, exact=True, nulls=value is None, values=value is not None)

    def column_range(self, facts: Facts) -> Range:
        """Return the range of a column from its statistics."""
        range_ = Range(nulls=self.may_be_null(facts), values=self.may_have_value(facts))
        nan = self.may_be_nan(facts)
        if nan and facts.nulls is not None and facts.nans == facts.rows - facts.nulls:
            return replace(range_, lower=NAN, upper=NAN, exact=True)
        if not facts.bounded:
            return range_
        upper = NAN if nan else facts.upper
        return replace(range_, lower=facts.lower, upper=upper, exact=facts.exact and facts.nans is not None)

    def may_be_null(self, facts: Facts) -> bool:
        """Tell whether some row may be NULL; an unknown count may be any."""
        return facts.nulls is None or facts.nulls > 0

    def may_have_value(self, facts: Facts) -> bool:
        """Tell whether some row may have a value other than NULL."""
        return facts.nulls is None or facts.nulls < facts.rows

    def may_be_nan(self, facts: Facts) -> bool:
        """Tell whether some row may be NaN."""
        return is_float(facts.type) and (facts.nans is None or facts.nans > 0)

    def arithmetic_range(self, name: str, x: Range, operand: Json) -> Range:
        """Return the range of arithmetic with a positive literal; it has no bounds if it may wrap around."""
        y, type_ = operand["literal"], operand["type"]
        if y is None or (name == "%" and y == 0):
            return Range()
        unbounded = self.without_bounds(x)
        if not is_integer(type_) or x.lower is None or x.upper is None or y <= 0:
            return unbounded
        if name == "%":
            return self.remainder_range(x, y)
        ends = {
            "+": (x.lower + y, x.upper + y),
            "-": (x.lower - y, x.upper - y),
            "*": (x.lower * y, x.upper * y),
        }
        lower, upper = ends[name]
        if not self.fits(lower, upper, type_):
            return unbounded
        return replace(x, lower=wrap_integer(lower, type_), upper=wrap_integer(upper, type_))

    def fits(self, lower: int, upper: int, type_: str) -> bool:
        """Tell whether a type can hold all integers of a range."""
        low, high = integer_range(type_)
        return low <= lower and upper <= high

    def remainder_range(self, x: Range, y: int) -> Range:
        """Return the range of a remainder, which has the sign of the dividend."""
        lower = 0 if x.lower >= 0 else 1 - y
        upper = 0 if x.upper <= 0 else y - 1
        return replace(x, lower=lower, upper=upper, exact=False)

    def cast_range(self, term: Json, x: Range) -> Range:
        """Return the range of a cast, which keeps the order of integers if all of them fit."""
        type_ = term["type"]
        unbounded = replace(
            x, lower=None, upper=None, exact=False, nulls=x.nulls or term["call"] == "try cast"
        )
        if x.lower is None or x.upper is None or not self.keeps_order(type_):
            return unbounded
        if type_ == "float64":
            return replace(x, lower=float(x.lower), upper=float(x.upper), exact=False)
        return replace(x, exact=False) if self.fits(x.lower, x.upper, type_) else unbounded

    def keeps_order(self, type_: str) -> bool:
        """Tell whether a cast to a type keeps the order of integers; a cast to text does not."""
        return is_integer(type_) or type_ == "float64"

    def function_range(self, term: Json, lookup: Lookup) -> Range:
        """Return the range of a function of one operand and of constants; it is NULL where the operand is."""
        constants, type_ = self.constants(term), self.operand_type(term, lookup)
        if None in constants or (term["call"] in ("%", "//") and 0 in constants):
            return Range()
        x = self.range_of(term["of"][0], lookup)
        if not type_ or not x.values or x.lower is None or x.upper is None:
            return self.without_bounds(x)
        if is_float(type_):
            return self.float_range(term, x, lookup)
        if term["call"] == "negate":
            return self.negated_range(x, type_)
        if term["call"] == "abs":
            return self.absolute_range(x, type_)
        return self.rising_range(term, x, lookup) if self.is_rising(term) else self.without_bounds(x)

    def is_of_one_operand(self, term: Json) -> bool:
        """Tell whether a call is a function of an operand and of constants, or a cast of a time to a date."""
        if term["call"] == "cast":
            return bool(term["type"] == "date")
        return term["call"] in STRICT and all("literal" in operand for operand in term["of"][1:])

    def constants(self, term: Json) -> list[Value]:
        """Return the values of the operands of a call after the first."""
        return [from_json(operand["literal"], operand["type"]) for operand in term["of"][1:]]

    def without_bounds(self, x: Range) -> Range:
        """Return a range without its bounds."""
        return replace(x, lower=None, upper=None, exact=False)

    def operand_type(self, term: Json, lookup: Lookup) -> str:
        """Return the type of the first operand of a call; empty for a column that is not in the file."""
        return type_of(term["of"][0], self.schema(term, lookup))

    def schema(self, term: Json, lookup: Lookup) -> Schema:
        """Return the types of the columns of an expression."""
        return {name: (0, lookup(name).type) for name in columns_of(term)}

    def is_rising(self, term: Json) -> bool:
        """Tell whether a function keeps the order of its first operand; the beginning of a text does."""
        if term["call"] == "substring":
            return bool(self.constants(term)[0] == 1)
        return term["call"] in _RISING and all(number > 0 for number in self.constants(term))

    def rising_range(self, term: Json, x: Range, lookup: Lookup) -> Range:
        """Return the range of a function that keeps the order of its first operand."""
        return replace(
            x, lower=self.value_at(term, x.lower, lookup), upper=self.value_at(term, x.upper, lookup)
        )

    def float_range(self, term: Json, x: Range, lookup: Lookup) -> Range:
        """Return the range of arithmetic of floating point, of which NaN stays the greatest."""
        if term["call"] in _RISING_FLOATS and all(number > 0 for number in self.constants(term)):
            return self.rising_range(term, x, lookup)
        if term["call"] == "abs" and x.lower >= 0:
            return x
        if term["call"] == "negate" and not isinstance(x.upper, Nan):
            return replace(x, lower=-x.upper, upper=-x.lower)
        return self.without_bounds(x)

    def value_at(self, term: Json, value: Value, lookup: Lookup) -> Value:
        """Return the value of a function where its first operand has a value."""
        return function(term, self.schema(term, lookup))(value, *self.constants(term))

    def negated_range(self, x: Range, type_: str) -> Range:
        """Return the range of the negatives, the greatest of which is that of the least."""
        if not self.fits(-x.upper, -x.lower, type_):
            return self.without_bounds(x)
        return replace(x, lower=-x.upper, upper=-x.lower)

    def absolute_range(self, x: Range, type_: str) -> Range:
        """Return the range of absolute values, the least of which may be 0 if the signs differ."""
        if x.lower >= 0:
            return x
        if x.upper <= 0:
            return self.negated_range(x, type_)
        upper = max(-x.lower, x.upper)
        return (
            replace(x, lower=0, upper=upper, exact=False)
            if self.fits(0, upper, type_)
            else self.without_bounds(x)
        )

    def nullif_range(self, x: Range) -> Range:
        """Return the range of NULLIF, which may turn any value into NULL."""
        return replace(x, nulls=True, exact=False)

    def coalesce_range(self, x: Range, y: Range) -> Range:
        """Return the range of COALESCE of two operands."""
        return replace(self.union(x, y), nulls=y.nulls) if x.nulls else x

    def if_range(self, term: Json, lookup: Lookup) -> Range:
        """Return the range of IF, of either branch."""
        _, yes, no = term["of"]
        return self.union(self.range_of(yes, lookup), self.range_of(no, lookup))

    def union(self, x: Range, y: Range) -> Range:
        """Return a range that contains both ranges."""
        if not x.values or not y.values:
            return replace(y if not x.values else x, nulls=x.nulls or y.nulls, exact=False)
        unbounded = None in (x.lower, x.upper, y.lower, y.upper)
        return Range(
            lower=None if unbounded else min(x.lower, y.lower),
            upper=None if unbounded else max(x.upper, y.upper),
            nulls=x.nulls or y.nulls,
        )

    def comparison_truths(self, name: str, x: Range, y: Range) -> int:
        """Return the truth values that a comparison may have."""
        possible = NULL if x.nulls or y.nulls else 0
        if not x.values or not y.values:
            return possible
        if name in (">", ">="):
            return possible | self.value_comparison_truths(name.replace(">", "<"), y, x)
        if name == "!=":
            return possible | self.negate_truths(self.value_comparison_truths("=", x, y))
        return possible | self.value_comparison_truths(name, x, y)

    def value_comparison_truths(self, name: str, x: Range, y: Range) -> int:
        """Return the truth values of `=`, `<` or `<=` for operands that are not NULL."""
        if name == "=":
            apart = self.is_below(x, y, strictly=True) or self.is_below(y, x, strictly=True)
            return FALSE if apart else TRUE if self.is_one_value(x, y) else TRUE | FALSE
        strictly = name == "<"
        if self.is_below(x, y, strictly=strictly):
            return TRUE
        return FALSE if self.is_below(y, x, strictly=not strictly) else TRUE | FALSE

    def is_below(self, x: Range, y: Range, *, strictly: bool) -> bool:
        """Tell whether each value of one range is below each value of another."""
        if x.upper is None or y.lower is None:
            return False
        return bool(x.upper < y.lower if strictly else x.upper <= y.lower)

    def is_one_value(self, x: Range, y: Range) -> bool:
        """Tell whether both ranges consist of the same single value."""
        ends: list[Any] = [x.lower, x.upper, y.lower, y.upper]
        return None not in ends and all(end == ends[0] for end in ends)

    def negate_truths(self, truths: int) -> int:
        """Return the truth values of NOT: TRUE and FALSE swapped."""
        return (truths & NULL) | (TRUE if truths & FALSE else 0) | (FALSE if truths & TRUE else 0)

    def nan_test_truths(self, x: Range) -> int:
        """Return the truth values of IS NAN, which is NULL for NULL."""
        possible = NULL if x.nulls else 0
        if not x.values:
            return possible
        may = x.upper is None or isinstance(x.upper, Nan)
        must = isinstance(x.lower, Nan)
        return possible | (TRUE if may else 0) | (0 if must else FALSE)
