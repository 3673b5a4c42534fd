"""Mutants that write wrong statistics down, or give the parts of them a wrong meaning."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from struct import pack

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import Range
from skipproof.stand.reference.statistics import BLOOM_BITS, Facts
from skipproof.stand.reference.tables import Chunk
from skipproof.stand.reference.values import Nan, Value, wrap_integer

_MS, _MINUTE, _LAST_MOMENT = 1_000, 60_000_000, 253_402_300_799_999_999
_1900 = -2_208_988_800_000_000
_SHORT, _LONG = 3, 64


def _in_us(type_: str) -> bool:
    return type_.startswith("timestamp(us")


@mutant(
    "null_count",
    "BADSTATS NULLS NULLSAFE",
    "apache/doris#67573",
    "The count of NULLs is that of the first page.",
)
def nulls_of_the_first_page(self: Rules, cells: Sequence[Value]) -> int:
    return sum(cell is None for cell in cells[: max(1, len(cells) // 3)])


@mutant(
    "null_count",
    "DICT NULLS NULLSAFE",
    "ClickHouse/ClickHouse#110037",
    "That a column of few distinct values has NULLs is not recorded.",
)
def nulls_beside_a_dictionary(self: Rules, cells: Sequence[Value]) -> int:
    distinct = {cell for cell in cells if cell is not None}
    return 0 if len(distinct) == 1 else Rules.null_count(self, cells)


@mutant(
    "count_cells",
    "NAN BADSTATS",
    "apache/hudi#18754",
    "One NaN clears the bounds, which are then read as zeros.",
)
def bounds_of_zero(self: Rules, type_: str, cells: Sequence[Value]) -> Facts:
    facts = Rules.count_cells(self, type_, cells)
    return replace(facts, nans=0, bounded=True, lower=0.0, upper=0.0) if facts.nans else facts


@mutant(
    "extremes",
    "DECIMAL BADSTATS",
    "apache/arrow-rs#10860",
    "Decimals of unequal length are compared bytewise.",
)
def decimals_bytewise(self: Rules, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
    if not type_.startswith("decimal"):
        return Rules.extremes(self, values, type_)
    return min(values, key=str), max(values, key=str)


@mutant("extremes", "DECIMAL BADSTATS", "apache/arrow-rs#11073", "The bytes of decimals have no sign.")
def decimals_without_sign(self: Rules, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
    if not type_.startswith("decimal"):
        return Rules.extremes(self, values, type_)

    def key(value: Decimal) -> tuple[bool, Decimal]:
        return value < 0, value

    return min(values, key=key), max(values, key=key)


@mutant(
    "extremes", "UINT BADSTATS", "pola-rs/polars#16683", "Bounds of unsigned integers as if they had a sign."
)
def unsigned_as_signed(self: Rules, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
    if not type_.startswith("uint"):
        return Rules.extremes(self, values, type_)
    signed = [wrap_integer(value, type_[1:]) for value in values]
    return wrap_integer(min(signed), type_), wrap_integer(max(signed), type_)


@mutant(
    "extremes",
    "STR BADSTATS",
    "facebookincubator/velox#16744",
    "Texts in the order of bytes that have a sign.",
)
def signed_bytes(self: Rules, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
    if type_ != "string":
        return Rules.extremes(self, values, type_)

    def key(value: str) -> list[int]:
        return [wrap_integer(byte, "int8") for byte in value.encode()]

    return min(values, key=key), max(values, key=key)


@mutant("extremes", "TS BADSTATS", "trinodb/trino#5083", "Bounds of timestamps in the order of their bytes.")
def timestamps_bytewise(self: Rules, values: Sequence[Value], type_: str) -> tuple[Value, Value]:
    if not type_.startswith("timestamp"):
        return Rules.extremes(self, values, type_)

    def key(value: int) -> bytes:
        return value.to_bytes(8, "little", signed=True)

    return min(values, key=key), max(values, key=key)


@mutant("upper_bound", "STR TRUNC", "duckdb/duckdb#4907", "The upper bound of a text is its beginning.")
def upper_bound_is_cut(self: Rules, value: Value, type_: str) -> Value:
    return value[:_SHORT] if type_ == "string" else Rules.upper_bound(self, value, type_)


@mutant(
    "successor",
    "STR TRUNC",
    "apache/iceberg#3760",
    "A beginning that ends in the last character stays as it is.",
)
def last_character_stays(self: Rules, start: str | bytes) -> str | bytes | None:
    following = Rules.successor(self, start)
    return start if following is None or len(following) < len(start) else following


@mutant(
    "next_character",
    "STR TRUNC",
    "apache/iceberg-python#3880",
    "The character after U+D7FF is a surrogate, which cannot be written.",
)
def surrogates(self: Rules, character: str) -> str:
    return chr(ord(character) + 1).encode().decode()


@mutant(
    "upper_bound", "STR", "apache/doris#45484", "Bounds are those of padded texts, literals are not padded."
)
def padding(self: Rules, value: Value, type_: str) -> Value:
    bound = Rules.upper_bound(self, value, type_)
    return bound.rstrip(" ") if isinstance(bound, str) else bound


@mutant("upper_bound", "TS TRUNC", "trinodb/trino#31231", "The greatest timestamp is rounded down to ms.")
def upper_bound_in_ms(self: Rules, value: Value, type_: str) -> Value:
    return value // _MS * _MS if _in_us(type_) else Rules.upper_bound(self, value, type_)


@mutant("lower_bound", "TS TRUNC", "apache/iceberg#1069", "Timestamps before 1970 are rounded towards it.")
def lower_bound_towards_1970(self: Rules, value: Value, type_: str) -> Value:
    if _in_us(type_) and value < 0:
        return -(-value // _MS * _MS)
    return Rules.lower_bound(self, value, type_)


@mutant("upper_bound", "TS TRUNC", "delta-io/delta#6080", "Zones of old timestamps are cut to minutes.")
def old_timestamps_in_minutes(self: Rules, value: Value, type_: str) -> Value:
    if _in_us(type_) and value < _1900:
        return value // _MINUTE * _MINUTE
    return Rules.upper_bound(self, value, type_)


@mutant(
    "upper_bound", "TS OVERFLOW", "delta-io/delta#6260", "A millisecond is added to the greatest timestamp."
)
def timestamp_overflows(self: Rules, value: Value, type_: str) -> Value:
    if _in_us(type_) and value + _MS > _LAST_MOMENT:
        raise OverflowError("timestamp out of range")
    return Rules.upper_bound(self, value, type_)


@mutant("is_below", "NEGZERO BADSTATS", "apache/arrow#5375", "-0.0 is taken to be below 0.0.")
def zeros_apart(self: Rules, x: Range, y: Range, *, strictly: bool) -> bool:
    if isinstance(x.upper, float) and isinstance(y.lower, float) and x.upper == y.lower == 0.0:
        return pack(">d", x.upper) > pack(">d", y.lower) or not strictly
    return Rules.is_below(self, x, y, strictly=strictly)


@mutant("encode", "NAN BLOOM", "duckdb/duckdb#23921", "A bloom filter has the bytes of one NaN of many.")
def nan_as_it_is(self: Rules, value: Value, type_: str) -> bytes:
    return pack("<d", value) if isinstance(value, Nan) else Rules.encode(self, value, type_)


@mutant("encode", "NEGZERO BLOOM", "apache/arrow#5375", "The two zeros have two hashes.")
def zeros_as_they_are(self: Rules, value: Value, type_: str) -> bytes:
    return pack("<d", value) if isinstance(value, float) else Rules.encode(self, value, type_)


@mutant(
    "bloom_may_hold",
    "BLOOM",
    "apache/parquet-java#3249",
    "A bloom filter is read in a length that it does not have.",
)
def bloom_of_another_length(self: Rules, facts: Facts, value: Value, type_: str) -> bool:
    assert facts.bloom is not None
    return self.hash_value(self.encode(value, type_)) % (BLOOM_BITS // 2) in facts.bloom


@mutant(
    "bloom",
    "SCHEMA BLOOM",
    "trinodb/trino#30544",
    "The hash of a narrow number is not that of the same number in the table's type.",
)
def hashes_of_the_stored_type(self: Rules, chunk: Chunk) -> frozenset[int]:
    if chunk.stored in (chunk.type, "") or not chunk.type.startswith("int"):
        return Rules.bloom(self, chunk)
    known = [cell for cell in chunk.cells if cell is not None]
    return frozenset(self.hash_value(cell.to_bytes(8, "little", signed=True)) for cell in known)


@mutant(
    "facts", "NOSTATS NULLS", "delta-io/delta-rs#3201", "A column without statistics is stated to be NULL."
)
def unstated_is_null(self: Rules, chunk: Chunk) -> Facts:
    facts = Rules.facts(self, chunk)
    return facts if chunk.stated.bounds or facts.partition else replace(facts, nulls=facts.rows)


@mutant(
    "facts", "NOSTATS TRUNC STR", "apache/hudi#18755", "Statistics left out for a long text read as all NULL."
)
def long_text_is_null(self: Rules, chunk: Chunk) -> Facts:
    facts = Rules.facts(self, chunk)
    if any(isinstance(cell, str) and len(cell) >= _LONG for cell in chunk.cells):
        return replace(facts, nulls=facts.rows)
    return facts


@mutant(
    "page",
    "BADSTATS PAGE ALLNULL NULLSAFE",
    "apache/parquet-java#3457",
    "A page of NULLs alone whose count of NULLs is 0.",
)
def page_of_nulls_without_nulls(self: Rules, chunk: Chunk, cells: Sequence[Value]) -> Facts:
    page = Rules.page(self, chunk, cells)
    return replace(page, nulls=0) if page.nulls == page.rows else page


@mutant(
    "truncate",
    "PART OVERFLOW",
    "apache/iceberg#9767",
    "A truncated number below the least one wraps around.",
)
def truncation_wraps(self: Rules, value: int, type_: str) -> int:
    return wrap_integer(Rules.truncate(self, value, type_), type_)


@mutant("partition_value", "PART", "apache/iceberg-python#173", "The bucket of 0 is that of NULL.")
def zero_is_null(self: Rules, transform: str, value: Value, type_: str) -> Value:
    return Rules.partition_value(self, transform, value, type_) if value else None


@mutant(
    "identity_facts", "PART TS", "duckdb/duckdb-iceberg#681", "The moment of a partition is read as its day."
)
def moments_as_days(self: Rules, known: Facts, value: Value) -> Facts:
    day = 24 * 60 * _MINUTE
    return Rules.identity_facts(self, known, value // day * day if _in_us(known.type) else value)
