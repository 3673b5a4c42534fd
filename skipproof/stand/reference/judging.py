"""Which truth values a condition may have on some rows, by all that is known of these."""

from collections.abc import Sequence
from itertools import product

from skipproof.stand.reference.evaluating import (
    COMPARISONS,
    columns_of,
    compiled,
    conjunction,
    disjunction,
    spelt,
)
from skipproof.stand.reference.ranges import ANY, FALSE, NULL, TRUE, Lookup, Range, Ranging
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.values import Value, from_json
from strategies.engines.questions import Json

_TRUTHS: dict[int, bool | None] = {TRUE: True, FALSE: False, NULL: None}
_BITS = {truth: bit for bit, truth in _TRUTHS.items()}


class Judging(Ranging):
    """Verdicts; each part is a method that a mutant may replace."""

    def may_match(self, where: Json, lookup: Lookup, rows: int) -> bool:
        """Whether some row may be in the answer."""
        return rows > 0 and (where is None or bool(self.truths(where, lookup) & TRUE))

    def matches_fully(self, where: Json, lookup: Lookup) -> bool:
        """Whether every row is in the answer."""
        return where is None or not self.truths(where, lookup) & (FALSE | NULL)

    def truths(self, term: Json, lookup: Lookup) -> int:
        """The truth values that a condition may have; more than it has, never fewer."""
        name = term.get("call")
        if name in ("and", "or"):
            return self.combined(name, term["of"], lookup)
        if name == "not":
            return self.negated(term["of"][0], lookup)
        found = self.by_ranges(term, lookup)
        columns = columns_of(term)
        if len(columns) == 1:
            (column,) = columns
            found &= self.by_column(term, column, lookup(column), lookup)
        return found

    def combined(self, name: str, of: Sequence[Json], lookup: Lookup) -> int:
        """AND and OR of all that the parts may be."""
        return self.kleene(name, [self.truths(part, lookup) for part in of])

    def kleene(self, name: str, truths: Sequence[int]) -> int:
        """AND or OR of each choice of truth values."""
        combine = conjunction if name == "and" else disjunction
        choices = [[truth for bit, truth in _TRUTHS.items() if bit & one] for one in truths]
        found = 0
        for choice in product(*choices):
            found |= _BITS[combine(*choice)]
        return found

    def negated(self, term: Json, lookup: Lookup) -> int:
        """NOT."""
        return self.swapped(self.truths(term, lookup))

    def by_ranges(self, term: Json, lookup: Lookup) -> int:
        """What the ranges of the operands say."""
        name, of = term.get("call"), term.get("of", ())
        if name in COMPARISONS:
            return self.compared(name, self.range_of(of[0], lookup), self.range_of(of[1], lookup))
        if name in ("is null", "is not null"):
            return self.null_tested(name, self.range_of(of[0], lookup))
        if name in ("is not distinct from", "is distinct from"):
            return self.null_safe(name, self.range_of(of[0], lookup), self.range_of(of[1], lookup))
        if name == "in":
            return self.among(self.range_of(of[0], lookup), [self.range_of(one, lookup) for one in of[1:]])
        if name == "between":
            return self.between(*(self.range_of(one, lookup) for one in of))
        if name == "is nan":
            return self.nan_tested(self.range_of(of[0], lookup))
        if name in ("like", "starts with"):
            return self.matched(name, self.range_of(of[0], lookup), of[1])
        return ANY

    def null_tested(self, name: str, x: Range) -> int:
        """IS NULL and IS NOT NULL."""
        found = (TRUE if x.nulls else 0) | (FALSE if x.values else 0)
        return found if name == "is null" else self.swapped(found)

    def null_safe(self, name: str, x: Range, y: Range) -> int:
        """IS NOT DISTINCT FROM and its opposite, which are never NULL."""
        found = self.compared("=", x, y) & (TRUE | FALSE)
        if x.nulls and y.nulls:
            found |= TRUE
        if (x.nulls and y.values) or (x.values and y.nulls):
            found |= FALSE
        return found if name == "is not distinct from" else self.swapped(found)

    def among(self, x: Range, members: Sequence[Range]) -> int:
        """IN is OR of equalities."""
        found = FALSE
        for member in members:
            found = self.kleene("or", [found, self.compared("=", x, member)])
        return found

    def between(self, x: Range, low: Range, high: Range) -> int:
        """BETWEEN is AND of two comparisons."""
        return self.kleene("and", [self.compared(">=", x, low), self.compared("<=", x, high)])

    def matched(self, name: str, x: Range, literal: Json) -> int:
        """LIKE and STARTS WITH, by the beginning that a text must have."""
        text = literal["literal"]
        start = self.pattern_start(text) if name == "like" else text
        everything = name == "starts with" or (self.is_prefix(text))
        if not x.values:
            return NULL
        found = (NULL if x.nulls else 0) | TRUE | FALSE
        if x.lower is None or x.upper is None:
            return found
        if self.outside(start, x):
            found &= ~TRUE
        elif everything and self.all_start(start, x):
            found &= ~FALSE
        return found

    def pattern_start(self, pattern: str) -> str:
        """What stands before the first wildcard."""
        start = ""
        for text, literal in spelt(pattern):
            if not literal:
                break
            start += text
        return start

    def is_prefix(self, pattern: str) -> bool:
        """Whether only the last character is a wildcard, for anything."""
        wild = [(text, at) for at, (text, literal) in enumerate(spelt(pattern)) if not literal]
        return wild == [("%", len(spelt(pattern)) - 1)]

    def outside(self, start: str, x: Range) -> bool:
        """Whether no text within bounds begins like that."""
        return bool(x.upper < start or x.lower[: len(start)] > start)

    def all_start(self, start: str, x: Range) -> bool:
        """Whether each text within bounds begins like that."""
        return bool(x.lower.startswith(start) and x.upper.startswith(start))

    def by_column(self, term: Json, column: str, facts: Facts, lookup: Lookup) -> int:
        """What the dictionary, the bloom filter and the partition of the only column say."""
        found = ANY
        if facts.dictionary is not None:
            found &= self.by_dictionary(term, column, facts)
        if facts.bloom is not None:
            found &= self.by_bloom(term, facts)
        if facts.partition is not None:
            found &= self.by_partition(term, facts)
        return found

    def by_dictionary(self, term: Json, column: str, facts: Facts) -> int:
        """The truth values that the condition has of each value, and of NULL."""
        assert facts.dictionary is not None
        values = self.dictionary_values(facts)
        evaluate = compiled(term, {column: (0, facts.type)})
        found = 0
        for value in values:
            found |= _BITS[evaluate((value,))]
        return found

    def dictionary_values(self, facts: Facts) -> list[Value]:
        """The values of a dictionary, in which NULL is not."""
        assert facts.dictionary is not None
        return [*facts.dictionary, *([None] if self.may_be_null(facts) else [])]

    def by_bloom(self, term: Json, facts: Facts) -> int:
        """That an equality with a literal is never true, if no value has its hash."""
        wanted = self.wanted(term)
        if wanted is None or any(self.has(facts, *one) for one in wanted):
            return ANY
        return ANY & ~TRUE

    def has(self, facts: Facts, value: Value, type_: str) -> bool:
        """Whether the bloom filter may hold a value."""
        assert facts.bloom is not None
        return self.hashed(self.probed(value, type_)) in facts.bloom

    def probed(self, value: Value, type_: str) -> bytes:
        """The bytes that are looked up."""
        return self.encoded(value, type_)

    def wanted(self, term: Json) -> list[tuple[Value, str]] | None:
        """The values of which a column must have one for the condition to be true; None if it is no such."""
        name, of = term.get("call"), term.get("of", ())
        if name not in ("=", "in", "is not distinct from") or "column" not in of[0]:
            return None
        if not all("literal" in one for one in of[1:]):
            return None
        if name == "is not distinct from" and of[1]["literal"] is None:
            return None
        literals = [(from_json(one["literal"], one["type"]), one["type"]) for one in of[1:]]
        return [one for one in literals if one[0] is not None]

    def by_partition(self, term: Json, facts: Facts) -> int:
        """What the value of the partition says."""
        assert facts.partition is not None
        inside = self.of_partition(facts, facts.partition)
        found = self.by_ranges(term, lambda name: inside)
        if facts.partition.transform == "bucket" and facts.partition.value is not None:
            found &= self.by_bucket(term, facts)
        return found

    def by_bucket(self, term: Json, facts: Facts) -> int:
        """That an equality with a literal of another bucket is never true."""
        assert facts.partition is not None
        wanted = self.wanted(term)
        if wanted is None:
            return ANY
        buckets = [self.partition_value("bucket", value, type_) for value, type_ in wanted]
        return ANY if facts.partition.value in buckets else ANY & ~TRUE

    def may_equal(self, facts: Facts, value: Value) -> bool:
        """Whether a column may have a value, which is not NULL."""
        if not self.compared("=", self.column_range(facts), self.point(value)) & TRUE:
            return False
        return facts.dictionary is None or value in facts.dictionary
