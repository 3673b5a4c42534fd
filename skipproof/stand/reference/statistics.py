"""What the small engine writes down of rows; each part is a method that a mutant may replace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from struct import pack
from zlib import crc32

from skipproof.stand.reference.tables import Chunk, Group, Partition
from skipproof.stand.reference.values import NAN, Nan, Value, is_float

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
    """What is known of a column of some rows; None is unknown.

    Attributes:
        lower, upper: Of the values that are neither NULL nor NaN; not set where `bounded` is false.
        exact: Whether the bounds are values that occur.
        dictionary: The values that are not NULL.
        bloom: The hashes that some value has.
        pages: Where each page begins and ends, and what is known of it.
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


class Writing:
    """Statistics of rows."""

    def facts(self, chunk: Chunk) -> Facts:
        """What is written down of a chunk."""
        known = self.counted(chunk.type, chunk.cells)
        stated = chunk.stated
        return replace(
            known,
            nulls=known.nulls if stated.nulls else None,
            nans=known.nans if stated.nans else None,
            bounded=known.bounded and stated.bounds,
            dictionary=self.dictionary(chunk.cells) if stated.dictionary else None,
            bloom=self.bloom(chunk) if stated.bloom and chunk.type != "boolean" else None,
            pages=self.pages(chunk) if stated.pages else (),
            partition=chunk.partition,
        )

    def counted(self, type_: str, cells: Sequence[Value]) -> Facts:
        """Counts and bounds of some cells."""
        numbers = [cell for cell in cells if cell is not None and not isinstance(cell, Nan)]
        facts = Facts(type=type_, rows=len(cells), nulls=self.null_count(cells), nans=self.nan_count(cells))
        if not numbers:
            return facts
        lower, upper = self.extremes(numbers, type_)
        stored = self.lower_bound(lower, type_), self.upper_bound(upper, type_)
        exact = stored == (lower, upper)
        return replace(facts, bounded=stored[1] is not None, lower=stored[0], upper=stored[1], exact=exact)

    def null_count(self, cells: Sequence[Value]) -> int:
        """How many cells are NULL."""
        return sum(cell is None for cell in cells)

    def nan_count(self, cells: Sequence[Value]) -> int:
        """How many cells are NaN."""
        return sum(isinstance(cell, Nan) for cell in cells)

    def extremes(self, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
        """The least and the greatest of values without NaN."""
        return min(values), max(values)

    def lower_bound(self, value: Value, type_: str) -> Value:
        """The value, or the beginning of a long one."""
        return value[:BOUND_CHARACTERS_MAX] if isinstance(value, str | bytes) else value

    def upper_bound(self, value: Value, type_: str) -> Value:
        """The value, or one of few characters that is above a long one; None where there is none."""
        if not isinstance(value, str | bytes) or len(value) <= BOUND_CHARACTERS_MAX:
            return value
        return self.successor(value[:BOUND_CHARACTERS_MAX])

    def successor(self, start: str | bytes) -> str | bytes | None:
        """The least value above all that begin so: the last part that can be is made greater."""
        if isinstance(start, bytes):
            left = start.rstrip(bytes([LAST_BYTE]))
            return left[:-1] + bytes([left[-1] + 1]) if left else None
        text = start.rstrip(chr(LAST_CHARACTER))
        return text[:-1] + self.next_character(text[-1]) if text else None

    def next_character(self, character: str) -> str:
        """The next character; those of UTF-16 that stand for no character are passed over."""
        following = ord(character) + 1
        return chr(SURROGATES.stop if following in SURROGATES else following)

    def dictionary(self, cells: Sequence[Value]) -> frozenset[Value] | None:
        """The distinct values, where they are few."""
        values = frozenset(cell for cell in cells if cell is not None)
        return values if len(values) <= DICTIONARY_SIZE_MAX else None

    def bloom(self, chunk: Chunk) -> frozenset[int]:
        """The hashes of the values."""
        values = {self.encoded(cell, chunk.type) for cell in chunk.cells if cell is not None}
        return frozenset(self.hashed(value) for value in values)

    def hashed(self, value: bytes) -> int:
        """The bit of a value in a bloom filter."""
        return crc32(value) % BLOOM_BITS

    def encoded(self, value: Value, type_: str) -> bytes:
        """The bytes of a value, the same for equal ones."""
        if isinstance(value, float):
            return pack("<d", NAN if isinstance(value, Nan) else value + 0.0)
        if isinstance(value, str):
            return value.encode()
        return value if isinstance(value, bytes) else str(value).encode()

    def pages(self, chunk: Chunk) -> tuple[tuple[int, int, Facts], ...]:
        """Pages of a few rows, whose sizes differ from page to page and from column to column."""
        size, start = max(1, len(chunk.cells) // PAGES), 0
        found: list[tuple[int, int, Facts]] = []
        while start < len(chunk.cells):
            end = min(start + size + (chunk.ordinal + len(found)) % 2, len(chunk.cells))
            found.append((start, end, self.page(chunk, chunk.cells[start:end])))
            start = end
        return tuple(found)

    def page(self, chunk: Chunk, cells: Sequence[Value]) -> Facts:
        """What is known of a page: what is known of its chunk, of fewer rows."""
        known = self.counted(chunk.type, cells)
        stated = chunk.stated
        return replace(
            known,
            nulls=known.nulls if stated.nulls else None,
            nans=known.nans if stated.nans else None,
            bounded=known.bounded and stated.bounds,
        )

    def partition_value(self, transform: str, value: Value, type_: str) -> Value:
        """The value of a transform, NULL of NULL."""
        if value is None or transform == "identity":
            return value
        if transform == "bucket":
            return crc32(self.encoded(value, type_)) % BUCKETS
        return value[:WIDTH_TEXT] if isinstance(value, str) else self.truncated(value, type_)

    def truncated(self, value: int, type_: str) -> int:
        """The greatest multiple of the width that is no greater."""
        return value // WIDTH_INTEGER * WIDTH_INTEGER

    def of_partition(self, facts: Facts, partition: Partition) -> Facts:
        """What the partition's value says of its rows."""
        value, known = partition.value, Facts(type=facts.type, rows=facts.rows)
        if value is None:
            return replace(known, nulls=facts.rows, nans=0)
        known = replace(known, nulls=0)
        if partition.transform == "identity":
            return self.of_identity(known, value)
        if partition.transform == "bucket":
            return known
        upper = self.successor(value) if isinstance(value, str) else value + WIDTH_INTEGER - 1
        if isinstance(value, str) and len(value) < WIDTH_TEXT:
            upper = value
        return replace(known, nans=0, bounded=upper is not None, lower=value, upper=upper)

    def of_identity(self, known: Facts, value: Value) -> Facts:
        """All rows have one value."""
        if is_float(known.type) and isinstance(value, Nan):
            return replace(known, nans=known.rows)
        return replace(known, nans=0, bounded=True, lower=value, upper=value, exact=True)

    def facts_of(self, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
        """What is known of a column of a group, by its name."""
        for chunk in group.chunks:
            if chunk.path == name:
                return self.remembered(group, chunk)
        return self.missing(group)

    def missing(self, group: Group) -> Facts:
        """A column that the group does not hold is NULL in all rows."""
        return Facts(type="", rows=len(group.rows), nulls=len(group.rows), nans=0)

    def remembered(self, group: Group, chunk: Chunk) -> Facts:
        """The facts of a chunk, collected once."""
        if chunk.ordinal not in group.facts:
            group.facts[chunk.ordinal] = self.facts(chunk)
        known: Facts = group.facts[chunk.ordinal]
        return known
