"""Mutants that get the range of a function wrong, from a right range of its operand."""

from dataclasses import replace

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import Lookup, Range
from skipproof.stand.reference.values import Nan, Value, wrap_integer
from strategies.engines.functions import units_per_day
from strategies.engines.questions import Json


@mutant(
    "negated_range",
    "EXPR",
    "ClickHouse/ClickHouse#112156",
    "A function that falls is taken for one that rises.",
)
def negatives_rise(self: Rules, x: Range, type_: str) -> Range:
    result = Rules.negated_range(self, x, type_)
    return result if result.lower is None else replace(result, lower=result.upper, upper=result.lower)


@mutant(
    "negated_range",
    "EXPR OVERFLOW",
    "ClickHouse/ClickHouse#112151",
    "The least integer, which has no negative, is taken to keep to the order of the others.",
)
def least_is_negated(self: Rules, x: Range, type_: str) -> Range:
    return replace(x, lower=wrap_integer(-x.upper, type_), upper=wrap_integer(-x.lower, type_))


@mutant(
    "absolute_range",
    "EXPR",
    "ClickHouse/ClickHouse#63082",
    "Absolute values are taken to rise or fall, though the signs differ.",
)
def absolute_values_keep_order(self: Rules, x: Range, type_: str) -> Range:
    ends = sorted((abs(x.lower), abs(x.upper)))
    return (
        replace(x, lower=ends[0], upper=ends[1]) if self.fits(0, ends[1], type_) else self.without_bounds(x)
    )


@mutant(
    "is_rising",
    "EXPR TS",
    "StarRocks/starrocks#76046",
    "The months and the days of the month are taken to rise with the dates.",
)
def months_keep_order(self: Rules, term: Json) -> bool:
    return term["call"] in ("month", "day") or Rules.is_rising(self, term)


@mutant(
    "is_rising",
    "EXPR STR",
    "apache/gluten#12112",
    "Bounds in the order of bytes serve for texts without their case.",
)
def case_keeps_order(self: Rules, term: Json) -> bool:
    return term["call"] in ("lower", "upper") or Rules.is_rising(self, term)


@mutant(
    "is_rising",
    "EXPR STR",
    "StarRocks/starrocks#78024",
    "What is inside texts is taken to be in the order of the texts.",
)
def insides_keep_order(self: Rules, term: Json) -> bool:
    return term["call"] == "substring" or Rules.is_rising(self, term)


@mutant(
    "is_rising",
    "EXPR STR TS",
    "duckdb/duckdb-iceberg#1052",
    "Any function is evaluated at the bounds, even the length of a text.",
)
def every_function_rises(self: Rules, term: Json) -> bool:
    return True


@mutant(
    "value_at",
    "EXPR TS",
    "apache/paimon#9203",
    "The date of a time before 1970 is rounded toward 1970.",
)
def dates_before_1970(self: Rules, term: Json, value: Value, lookup: Lookup) -> Value:
    result = Rules.value_at(self, term, value, lookup)
    if term["call"] != "cast" or value >= 0:
        return result
    return -(-value // units_per_day(self.operand_type(term, lookup)))


@mutant(
    "value_at",
    "EXPR",
    "apache/tvm#4025",
    "The bounds of a quotient are rounded in the other direction than the quotient.",
)
def quotients_round_down(self: Rules, term: Json, value: Value, lookup: Lookup) -> Value:
    if term["call"] == "//":
        return value // self.constants(term)[0]
    return Rules.value_at(self, term, value, lookup)


@mutant(
    "nullif_range",
    "EXPR NULLS",
    "mongodb/mongosql#82",
    "NULLIF is taken to be NULL only where its operand is.",
)
def nullif_adds_no_null(self: Rules, x: Range) -> Range:
    return replace(x, exact=False)


@mutant(
    "float_range",
    "EXPR NAN",
    "duckdb/duckdb#24368",
    "The negative of NaN is taken to be the least of all numbers.",
)
def negative_nan_is_least(self: Rules, term: Json, x: Range, lookup: Lookup) -> Range:
    if term["call"] == "negate" and isinstance(x.upper, Nan):
        return replace(x, lower=float("-inf"), upper=-x.lower, exact=False)
    return Rules.float_range(self, term, x, lookup)


@mutant(
    "float_range",
    "EXPR",
    "pola-rs/polars#5855",
    "The bounds of a quotient of floating point are those of a quotient of integers.",
)
def float_quotients_are_whole(self: Rules, term: Json, x: Range, lookup: Lookup) -> Range:
    result = Rules.float_range(self, term, x, lookup)
    if term["call"] != "/" or result.lower is None:
        return result
    return replace(result, lower=result.lower // 1, upper=result.upper // 1)
