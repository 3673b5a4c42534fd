"""Mutants that judge a condition wrongly, from right ranges of its columns."""

from collections.abc import Sequence
from dataclasses import replace

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.evaluating import COMPARISONS, pattern_characters
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import ANY, FALSE, NULL, TRUE, Lookup, Range
from skipproof.stand.reference.statistics import WIDTH_TEXT, Facts
from skipproof.stand.reference.values import Nan, Value, wrap_integer
from strategies.engines.questions import Json


@mutant(
    "pattern_start", "LIKE", "apache/datafusion#22374", "The backslash stays in the beginning of a pattern."
)
def escapes_stay(self: Rules, pattern: str) -> str:
    start = Rules.pattern_start(self, pattern)
    wild = next((at for at, letter in enumerate(pattern) if letter in "%_"), len(pattern))
    return pattern[:wild] if "\\" in pattern else start


@mutant(
    "matched_text",
    "LIKE BLOOM",
    "apache/datafusion#22374",
    "The text that a pattern without wildcards matches is sought with its escapes.",
)
def text_with_escapes(self: Rules, pattern: Json) -> list[tuple[Value, str]] | None:
    sought = Rules.matched_text(self, pattern)
    return None if sought is None else [(pattern["literal"], "string")]


@mutant(
    "partition_truths",
    "PART LIKE NEG",
    "apache/iceberg-go#1192",
    "A beginning longer than a partition's is cut, and then negated.",
)
def beginnings_are_cut(self: Rules, term: Json, facts: Facts) -> int:
    assert facts.partition is not None
    if term.get("call") in ("like", "starts with") and facts.partition.transform == "truncate":
        start = pattern_characters(term["of"][1]["literal"])[:WIDTH_TEXT]
        if facts.partition.value == "".join(text for text, _ in start):
            return TRUE
    return Rules.partition_truths(self, term, facts)


@mutant(
    "partition_truths",
    "PART NEG",
    "duckdb/duckdb-delta#304",
    "!= of a partition is asked of a misread value.",
)
def partition_unequal(self: Rules, term: Json, facts: Facts) -> int:
    truths = Rules.partition_truths(self, term, facts)
    return truths & ~TRUE if term.get("call") == "!=" else truths


@mutant(
    "range_truths",
    "OVERFLOW EXPR",
    "ClickHouse/ClickHouse#118392",
    "A literal is wrapped into the column's type.",
)
def literal_wraps(self: Rules, term: Json, lookup: Lookup) -> int:
    of = term.get("of", ())
    if term.get("call") in COMPARISONS and "column" in of[0] and "literal" in of[1]:
        type_, literal = lookup(of[0]["column"]).type, of[1]
        if type_.startswith("int") and literal["literal"] is not None:
            of = [of[0], {"literal": wrap_integer(literal["literal"], type_), "type": type_}]
            return Rules.range_truths(self, term | {"of": of}, lookup)
    return Rules.range_truths(self, term, lookup)


@mutant(
    "range_truths",
    "TS",
    "pola-rs/polars#28609",
    "A literal with a zone is compared in another zone than the column.",
)
def literal_of_another_zone(self: Rules, term: Json, lookup: Lookup) -> int:
    def move(part: Json) -> Json:
        zoned = part.get("type") == "timestamp(us,UTC)" and part["literal"] is not None
        return part | {"literal": part["literal"] + 3_600_000_000} if zoned else part

    if term.get("call") not in COMPARISONS:
        return Rules.range_truths(self, term, lookup)
    return Rules.range_truths(self, term | {"of": [move(part) for part in term["of"]]}, lookup)


@mutant(
    "range_truths",
    "DECIMAL",
    "trinodb/trino#9338",
    "The digits of a decimal are compared with its precision.",
)
def digits_overflow(self: Rules, term: Json, lookup: Lookup) -> int:
    truths = Rules.range_truths(self, term, lookup)
    literals = [part for part in term.get("of", ()) if str(part.get("type")).startswith("decimal")]
    for part in literals:
        precision = int(part["type"].partition("(")[2].partition(",")[0])
        if part.get("literal") and len(part["literal"].lstrip("-0.").replace(".", "")) >= precision:
            return truths & ~TRUE
    return truths


@mutant(
    "fits",
    "EXPR OVERFLOW",
    "ClickHouse/ClickHouse#101814",
    "A conversion is taken to keep the order, though it wraps around.",
)
def nothing_wraps(self: Rules, lower: int, upper: int, type_: str) -> bool:
    return True


@mutant("remainder_range", "EXPR", "ClickHouse/ClickHouse#111759", "A function is taken to keep the order.")
def remainder_keeps_order(self: Rules, x: Range, y: int) -> Range:
    return replace(x, lower=x.lower % y, upper=x.upper % y, exact=False)


@mutant(
    "cast_range",
    "EXPR",
    "ClickHouse/ClickHouse#116946",
    "Texts of numbers are taken to be in the numbers' order.",
)
def texts_of_numbers(self: Rules, term: Json, x: Range) -> Range:
    if term["type"] == "string" and x.lower is not None:
        return replace(x, lower=str(x.lower), upper=str(x.upper), exact=False)
    return Rules.cast_range(self, term, x)


@mutant(
    "in_truths",
    "IN NULLSAFE NEG",
    "ClickHouse/ClickHouse#112905",
    "A NULL among the members of a list is taken to be none.",
)
def null_is_no_member(self: Rules, x: Range, members: Sequence[Range]) -> int:
    return Rules.in_truths(self, x, [member for member in members if member.values])


@mutant(
    "in_truths",
    "IN NULLSAFE NOSTATS",
    "apache/parquet-java#3639",
    "A list with NULL drops what has no count of NULLs.",
)
def null_among_members(self: Rules, x: Range, members: Sequence[Range]) -> int:
    return NULL if any(member.nulls for member in members) else Rules.in_truths(self, x, members)


@mutant(
    "in_truths",
    "IN NAN",
    "ClickHouse/ClickHouse#116927",
    "NaN among the members is looked for within bounds.",
)
def nan_is_no_member(self: Rules, x: Range, members: Sequence[Range]) -> int:
    left = [member for member in members if not isinstance(member.lower, Nan)]
    return Rules.in_truths(self, x, left) if len(left) < len(members) else Rules.in_truths(self, x, members)


@mutant(
    "combine_truths", "OR IN", "facebookincubator/velox#14919", "A part of OR is asked as if it stood alone."
)
def or_as_and(self: Rules, name: str, truths: Sequence[int]) -> int:
    result = Rules.combine_truths(self, name, truths)
    return result & ~TRUE if name == "or" and not truths[0] & TRUE else result


@mutant(
    "combine_truths",
    "NULLSAFE TS",
    "delta-io/delta-kernel-rs#2086",
    "AND of what is unknown is taken to be false.",
)
def unknown_is_false(self: Rules, name: str, truths: Sequence[int]) -> int:
    result = Rules.combine_truths(self, name, truths)
    return result & ~TRUE if name == "and" and all(truth == ANY for truth in truths) else result


@mutant(
    "not_truths",
    "NEG OR",
    "apache/spark#10344",
    "Of NOT over AND, the part that can be judged is negated alone.",
)
def part_is_negated(self: Rules, term: Json, lookup: Lookup) -> int:
    if term.get("call") != "and":
        return Rules.not_truths(self, term, lookup)
    parts = [self.truths(part, lookup) for part in term["of"]]
    decided = [truth for truth in parts if truth & (TRUE | FALSE) != TRUE | FALSE]
    return self.negate_truths(self.combine_truths("and", decided or parts))


@mutant(
    "not_truths",
    "NEG EXPR OR",
    "ClickHouse/ClickHouse#112652",
    "What cannot be judged is taken for true, and negated.",
)
def unsupported_is_negated(self: Rules, term: Json, lookup: Lookup) -> int:
    truths = Rules.not_truths(self, term, lookup)
    return truths & ~TRUE if self.truths(term, lookup) == ANY else truths


@mutant("is_below", "RANGE", "pola-rs/polars#2771", "The lower bound stands for the upper one.")
def lower_for_upper(self: Rules, x: Range, y: Range, *, strictly: bool) -> bool:
    if x.lower is None or y.lower is None:
        return False
    return bool(x.lower < y.lower)
