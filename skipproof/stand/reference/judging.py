"""The truth values that a condition may have on some rows, from the facts about the rows."""

from collections.abc import Sequence
from functools import cache, partial, reduce
from itertools import product

from skipproof.stand.reference.evaluating import (
    COMPARISONS,
    columns_of,
    compile_term,
    conjunction,
    disjunction,
    pattern_characters,
)
from skipproof.stand.reference.ranges import ANY, FALSE, NULL, TRUE, Lookup, Range, RangeRules
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.values import Value, from_json
from strategies.engines.questions import Json

_TRUTHS: dict[int, bool | None] = {TRUE: True, FALSE: False, NULL: None}
_BITS = {truth: bit for bit, truth in _TRUTHS.items()}


@cache
def _combine(name: str, x: int, y: int) -> int:
    """Return the truth values of AND or OR of two operands with these truth values."""
    combine = conjunction if name == "and" else disjunction
    possible = 0
    for choice in product(*([truth for bit, truth in _TRUTHS.items() if bit & bits] for bits in (x, y))):
        possible |= _BITS[combine(*choice)]
    return possible


class TruthRules(RangeRules):
    """The rules for truth values; a mutant replaces one of the methods."""

    def may_match(self, where: Json, lookup: Lookup, rows: int) -> bool:
        """Tell whether some row may satisfy a condition."""
        return rows > 0 and (where is None or bool(self.truths(where, lookup) & TRUE))

    def matches_fully(self, where: Json, lookup: Lookup) -> bool:
        """Tell whether every row satisfies a condition."""
        return where is None or not self.truths(where, lookup) & (FALSE | NULL)

    def truths(self, term: Json, lookup: Lookup) -> int:
        """Return a superset of the truth values that a condition has."""
        name = term.get("call")
        if name in ("and", "or"):
            return self.connective_truths(name, term["of"], lookup)
        if name == "not":
            return self.not_truths(term["of"][0], lookup)
        if name == "is true":
            return self.is_true_truths(self.truths(term["of"][0], lookup))
        possible = self.range_truths(term, lookup)
        columns = columns_of(term)
        if len(columns) == 1:
            (column,) = columns
            possible &= self.column_truths(term, column, lookup(column), lookup)
        return possible

    def connective_truths(self, name: str, of: Sequence[Json], lookup: Lookup) -> int:
        """Return the truth values of AND or OR of some terms."""
        return self.combine_truths(name, [self.truths(part, lookup) for part in of])

    def combine_truths(self, name: str, truths: Sequence[int]) -> int:
        """Combine each choice of the operands' truth values by AND or OR, one operand after the other."""
        return reduce(partial(_combine, name), truths, TRUE if name == "and" else FALSE)

    def not_truths(self, term: Json, lookup: Lookup) -> int:
        """Return the truth values of NOT."""
        return self.negate_truths(self.truths(term, lookup))

    def is_true_truths(self, truths: int) -> int:
        """Return the truth values of IS TRUE, which is never NULL."""
        return (truths & TRUE) | (FALSE if truths & (FALSE | NULL) else 0)

    def range_truths(self, term: Json, lookup: Lookup) -> int:
        """Return the truth values of a call, from the ranges of its operands."""
        name, of = term.get("call"), term.get("of", ())
        if name in COMPARISONS:
            return self.comparison_truths(name, self.range_of(of[0], lookup), self.range_of(of[1], lookup))
        if name in ("is null", "is not null"):
            return self.null_test_truths(name, self.range_of(of[0], lookup))
        if name in ("is not distinct from", "is distinct from"):
            return self.null_safe_truths(name, self.range_of(of[0], lookup), self.range_of(of[1], lookup))
        if name == "in":
            return self.in_truths(
                self.range_of(of[0], lookup), [self.range_of(operand, lookup) for operand in of[1:]]
            )
        if name == "between":
            return self.between_truths(*(self.range_of(operand, lookup) for operand in of))
        if name == "is nan":
            return self.nan_test_truths(self.range_of(of[0], lookup))
        if name in ("like", "starts with"):
            if of[1]["literal"] is None:
                return NULL
            return self.pattern_truths(name, self.range_of(of[0], lookup), of[1])
        return ANY

    def null_test_truths(self, name: str, x: Range) -> int:
        """Return the truth values of IS NULL or IS NOT NULL."""
        possible = (TRUE if x.nulls else 0) | (FALSE if x.values else 0)
        return possible if name == "is null" else self.negate_truths(possible)

    def null_safe_truths(self, name: str, x: Range, y: Range) -> int:
        """Return the truth values of IS [NOT] DISTINCT FROM, which is never NULL."""
        possible = self.comparison_truths("=", x, y) & (TRUE | FALSE)
        if x.nulls and y.nulls:
            possible |= TRUE
        if (x.nulls and y.values) or (x.values and y.nulls):
            possible |= FALSE
        return possible if name == "is not distinct from" else self.negate_truths(possible)

    def in_truths(self, x: Range, members: Sequence[Range]) -> int:
        """Return the truth values of IN, an OR of equalities."""
        possible = FALSE
        for member in members:
            possible = self.combine_truths("or", [possible, self.comparison_truths("=", x, member)])
        return possible

    def between_truths(self, x: Range, low: Range, high: Range) -> int:
        """Return the truth values of BETWEEN, an AND of two comparisons."""
        return self.combine_truths(
            "and", [self.comparison_truths(">=", x, low), self.comparison_truths("<=", x, high)]
        )

    def pattern_truths(self, name: str, x: Range, literal: Json) -> int:
        """Return the truth values of LIKE or STARTS WITH, from the prefix that a text must have."""
        text = literal["literal"]
        start = self.pattern_start(text) if name == "like" else text
        everything = name == "starts with" or (self.is_prefix(text))
        if not x.values:
            return NULL
        possible = (NULL if x.nulls else 0) | TRUE | FALSE
        if x.lower is None or x.upper is None:
            return possible
        if self.is_outside(start, x):
            possible &= ~TRUE
        elif everything and self.all_start_with(start, x):
            possible &= ~FALSE
        return possible

    def pattern_start(self, pattern: str) -> str:
        """Return the literal text before the first wildcard."""
        start = ""
        for text, literal in pattern_characters(pattern):
            if not literal:
                break
            start += text
        return start

    def is_prefix(self, pattern: str) -> bool:
        """Tell whether the only wildcard of a pattern is a % at its end."""
        wild = [(text, at) for at, (text, literal) in enumerate(pattern_characters(pattern)) if not literal]
        return wild == [("%", len(pattern_characters(pattern)) - 1)]

    def is_outside(self, start: str, x: Range) -> bool:
        """Tell whether no text within bounds has a prefix."""
        return bool(x.upper < start or x.lower[: len(start)] > start)

    def all_start_with(self, start: str, x: Range) -> bool:
        """Tell whether each text within bounds has a prefix."""
        return bool(x.lower.startswith(start) and x.upper.startswith(start))

    def column_truths(self, term: Json, column: str, facts: Facts, lookup: Lookup) -> int:
        """Return the truth values from the dictionary, bloom filter and partition of the only column."""
        possible = ANY
        if facts.dictionary is not None:
            possible &= self.dictionary_truths(term, column, facts)
        if facts.bloom is not None:
            possible &= self.bloom_truths(term, facts)
        if facts.partition is not None:
            possible &= self.partition_truths(term, facts)
        return possible

    def dictionary_truths(self, term: Json, column: str, facts: Facts) -> int:
        """Return the truth values of a condition for each value of a dictionary, and for NULL."""
        assert facts.dictionary is not None
        values = self.dictionary_values(facts)
        evaluate = compile_term(term, {column: (0, facts.type)})
        possible = 0
        for value in values:
            possible |= _BITS[evaluate((value,))]
        return possible

    def dictionary_values(self, facts: Facts) -> list[Value]:
        """Return the values of a dictionary, and NULL if the column may be NULL."""
        assert facts.dictionary is not None
        return [*facts.dictionary, *([None] if self.may_be_null(facts) else [])]

    def bloom_truths(self, term: Json, facts: Facts) -> int:
        """Return the truth values without TRUE if the bloom filter has none of the values sought."""
        wanted = self.sought_values(term)
        if wanted is None or any(self.bloom_may_hold(facts, *pair) for pair in wanted):
            return ANY
        return ANY & ~TRUE

    def bloom_may_hold(self, facts: Facts, value: Value, type_: str) -> bool:
        """Tell whether the bloom filter may hold a value."""
        assert facts.bloom is not None
        return self.hash_value(self.probe_bytes(value, type_)) in facts.bloom

    def probe_bytes(self, value: Value, type_: str) -> bytes:
        """Return the bytes of a value to look up in a bloom filter."""
        return self.encode(value, type_)

    def sought_values(self, term: Json) -> list[tuple[Value, str]] | None:
        """Return the constants of which the column must equal one, each with its type; NULL is left out.

        None if the condition does not compare a column with constants by =, IN or IS NOT DISTINCT FROM, or by
        LIKE without wildcards.
        """
        name, of = term.get("call"), term.get("of", ())
        if name == "like" and "column" in of[0] and of[1]["literal"] is not None:
            return self.matched_text(of[1])
        if name not in ("=", "in", "is not distinct from") or "column" not in of[0]:
            return None
        if not all("literal" in operand for operand in of[1:]):
            return None
        if name == "is not distinct from" and of[1]["literal"] is None:
            return None
        literals = [(from_json(literal["literal"], literal["type"]), literal["type"]) for literal in of[1:]]
        return [literal for literal in literals if literal[0] is not None]

    def matched_text(self, pattern: Json) -> list[tuple[Value, str]] | None:
        """Return the only text that a LIKE pattern matches, with its type; None if it has a wildcard."""
        characters = pattern_characters(pattern["literal"])
        if not all(is_literal for _, is_literal in characters):
            return None
        return [("".join(text for text, _ in characters), "string")]

    def partition_truths(self, term: Json, facts: Facts) -> int:
        """Return the truth values from the value of the partition."""
        assert facts.partition is not None
        inside = self.partition_facts(facts, facts.partition)
        possible = self.range_truths(term, lambda name: inside)
        if facts.partition.transform == "bucket" and facts.partition.value is not None:
            possible &= self.bucket_truths(term, facts)
        return possible

    def bucket_truths(self, term: Json, facts: Facts) -> int:
        """Return the truth values without TRUE if the values sought are in other buckets."""
        assert facts.partition is not None
        wanted = self.sought_values(term)
        if wanted is None:
            return ANY
        buckets = [self.partition_value("bucket", value, type_) for value, type_ in wanted]
        return ANY if facts.partition.value in buckets else ANY & ~TRUE

    def may_equal(self, facts: Facts, value: Value) -> bool:
        """Tell whether a column may have a value other than NULL."""
        if not self.comparison_truths("=", self.column_range(facts), self.point(value)) & TRUE:
            return False
        return facts.dictionary is None or value in facts.dictionary
