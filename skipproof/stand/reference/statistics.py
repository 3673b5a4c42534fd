"""The statistics that the small engine collects from rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from struct import pack
from zlib import crc32

from skipproof.stand.reference.tables import Chunk, Group, Partition
from skipproof.stand.reference.values import NAN, Nan, Value, is_float
from strategies.engines.engine_values import integer_range

BOUND_CHARACTERS_MAX = 16
DICTIONARY_SIZE_MAX = 8
BLOOM_BITS = 1024
BUCKETS = 4
PAGES = 3
WIDTH_INTEGER, WIDTH_TEXT = 10, 2
LAST_CHARACTER, LAST_BYTE = 0x10FFFF, 0xFF
SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts about a column of some rows; None is unknown.

    Attributes:
        lower, upper: The bounds of values other than NULL and NaN; not set if `bounded` is false.
        exact: Whether the bounds are values of rows.
        dictionary: The distinct values other than NULL.
        bloom: The hashes of the values.
        pages: The first row of each page, the row after its last, and the facts about it.
    """

    type: str
    rows: int
    nulls: int | None = None
    nans: int | None = None
    bounded: bool = False
    lower: Value = None
    upper: Value = None
    exact: bool = False
    dictionary: frozenset[Value] | None = None
    bloom: frozenset[int] | None = None
    pages: tuple[tuple[int, int, "Facts"], ...] = ()
    partition: Partition | None = None


class StatisticsRules:
    """The rules for statistics; a mutant replaces one of the methods."""

    def facts(self, chunk: Chunk) -> Facts:
        """Return the facts about a chunk."""
        counts = self.count_cells(chunk.type, chunk.cells)
        stated = chunk.stated
        return replace(
            counts,
            nulls=counts.nulls if stated.nulls else None,
            nans=counts.nans if stated.nans else None,
            bounded=counts.bounded and stated.bounds,
            dictionary=self.dictionary(chunk.cells) if stated.dictionary else None,
            bloom=self.bloom(chunk) if stated.bloom and chunk.type != "boolean" else None,
            pages=self.pages(chunk) if stated.pages else (),
            partition=chunk.partition,
        )

    def count_cells(self, type_: str, cells: Sequence[Value]) -> Facts:
        """Return the counts and bounds of some cells."""
        numbers = [cell for cell in cells if cell is not None and not isinstance(cell, Nan)]
        facts = Facts(type=type_, rows=len(cells), nulls=self.null_count(cells), nans=self.nan_count(cells))
        if not numbers:
            return facts
        lower, upper = self.extremes(numbers, type_)
        stored = self.lower_bound(lower, type_), self.upper_bound(upper, type_)
        exact = stored == (lower, upper)
        return replace(facts, bounded=stored[1] is not None, lower=stored[0], upper=stored[1], exact=exact)

    def null_count(self, cells: Sequence[Value]) -> int:
        """Return the number of cells that are NULL."""
        return sum(cell is None for cell in cells)

    def nan_count(self, cells: Sequence[Value]) -> int:
        """Return the number of cells that are NaN."""
        return sum(isinstance(cell, Nan) for cell in cells)

    def extremes(self, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
        """Return the least and the greatest of values without NaN."""
        return min(values), max(values)

    def lower_bound(self, value: Value, type_: str) -> Value:
        """Return the value, or the prefix of a long one."""
        return value[:BOUND_CHARACTERS_MAX] if isinstance(value, str | bytes) else value

    def upper_bound(self, value: Value, type_: str) -> Value:
        """Return the value, or a short one above a long one; None if there is none."""
        if not isinstance(value, str | bytes) or len(value) <= BOUND_CHARACTERS_MAX:
            return value
        return self.successor(value[:BOUND_CHARACTERS_MAX])

    def successor(self, start: str | bytes) -> str | bytes | None:
        """Return the least value above all values with a prefix; None if there is none."""
        if isinstance(start, bytes):
            left = start.rstrip(bytes([LAST_BYTE]))
            return left[:-1] + bytes([left[-1] + 1]) if left else None
        text = start.rstrip(chr(LAST_CHARACTER))
        return text[:-1] + self.next_character(text[-1]) if text else None

    def next_character(self, character: str) -> str:
        """Return the next character; the surrogates of UTF-16 are skipped."""
        following = ord(character) + 1
        return chr(SURROGATES.stop if following in SURROGATES else following)

    def dictionary(self, cells: Sequence[Value]) -> frozenset[Value] | None:
        """Return the distinct values, or None if there are many."""
        values = frozenset(cell for cell in cells if cell is not None)
        return values if len(values) <= DICTIONARY_SIZE_MAX else None

    def bloom(self, chunk: Chunk) -> frozenset[int]:
        """Return the hashes of the values."""
        values = {self.encode(cell, chunk.type) for cell in chunk.cells if cell is not None}
        return frozenset(self.hash_value(value) for value in values)

    def hash_value(self, value: bytes) -> int:
        """Return the bit of a value in a bloom filter."""
        return crc32(value) % BLOOM_BITS

    def encode(self, value: Value, type_: str) -> bytes:
        """Return the bytes of a value, the same for equal values."""
        if isinstance(value, float):
            return pack("<d", NAN if isinstance(value, Nan) else value + 0.0)
        if isinstance(value, str):
            return value.encode()
        return value if isinstance(value, bytes) else str(value).encode()

    def pages(self, chunk: Chunk) -> tuple[tuple[int, int, Facts], ...]:
        """Return the pages of a chunk; their sizes differ between pages and between columns."""
        size, start = max(1, len(chunk.cells) // PAGES), 0
        pages: list[tuple[int, int, Facts]] = []
        while start < len(chunk.cells):
            end = min(start + size + (chunk.ordinal + len(pages)) % 2, len(chunk.cells))
            pages.append((start, end, self.page(chunk, chunk.cells[start:end])))
            start = end
        return tuple(pages)

    def page(self, chunk: Chunk, cells: Sequence[Value]) -> Facts:
        """Return the facts about a page, of the kinds that its chunk has."""
        counts = self.count_cells(chunk.type, cells)
        stated = chunk.stated
        return replace(
            counts,
            nulls=counts.nulls if stated.nulls else None,
            nans=counts.nans if stated.nans else None,
            bounded=counts.bounded and stated.bounds,
        )

    def partition_value(self, transform: str, value: Value, type_: str) -> Value:
        """Return the value of a transform; NULL for NULL."""
        if value is None or transform == "identity":
            return value
        if transform == "bucket":
            return crc32(self.encode(value, type_)) % BUCKETS
        return value[:WIDTH_TEXT] if isinstance(value, str) else self.truncate(value, type_)

    def truncate(self, value: int, type_: str) -> int:
        """Return the greatest multiple of the width that is not above the value."""
        return value // WIDTH_INTEGER * WIDTH_INTEGER

    def partition_facts(self, facts: Facts, partition: Partition) -> Facts:
        """Return the facts that follow from the value of a partition."""
        value, facts_of_rows = partition.value, Facts(type=facts.type, rows=facts.rows)
        if value is None:
            return replace(facts_of_rows, nulls=facts.rows, nans=0)
        facts_of_rows = replace(facts_of_rows, nulls=0)
        if partition.transform == "identity":
            return self.identity_facts(facts_of_rows, value)
        if partition.transform == "bucket":
            return facts_of_rows
        lower, upper = self.truncated_bounds(value, facts.type)
        return replace(facts_of_rows, nans=0, bounded=upper is not None, lower=lower, upper=upper)

    def truncated_bounds(self, value: Value, type_: str) -> tuple[Value, Value]:
        """Return the bounds of the values that are truncated to a value; the upper one is None if none is."""
        if isinstance(value, str):
            return value, value if len(value) < WIDTH_TEXT else self.successor(value)
        least, greatest = integer_range(type_)
        return max(value, least), min(value + WIDTH_INTEGER - 1, greatest)

    def identity_facts(self, without_value: Facts, value: Value) -> Facts:
        """Return the facts about rows that all have one value."""
        if is_float(without_value.type) and isinstance(value, Nan):
            return replace(without_value, nans=without_value.rows)
        return replace(without_value, nans=0, bounded=True, lower=value, upper=value, exact=True)

    def facts_of(self, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
        """Return the facts about a column of a group, by its name."""
        for chunk in group.chunks:
            if chunk.column == name:
                return self.cached_facts(group, chunk)
        return self.absent_column_facts(group)

    def absent_column_facts(self, group: Group) -> Facts:
        """Return the facts about a column that a group does not hold: it is NULL in all rows."""
        return Facts(type="", rows=len(group.rows), nulls=len(group.rows), nans=0)

    def cached_facts(self, group: Group, chunk: Chunk) -> Facts:
        """Return the facts about a chunk, which are collected once."""
        if chunk.ordinal not in group.facts:
            group.facts[chunk.ordinal] = self.facts(chunk)
        facts: Facts = group.facts[chunk.ordinal]
        return facts
