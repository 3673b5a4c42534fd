"""Values of each SQL type, nasty on purpose, and the small pools that make them meet.

Bugs sit where values are equal, adjacent, extreme or spelt in two ways, so each strategy mixes
a list of known trouble with free draws. Sources: the classes NAN, STR, DECIMAL, TS, OVERFLOW,
NEGZERO and TRUNC of published pruning bugs.
"""

import functools
import math
import struct
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pruning.expressions.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
    decimal,
)

# Widths at which readers change representation: int32, int64, and 16 bytes; scales at both ends.
_DIGITS = ((9, 2), (9, 9), (10, 0), (18, 0), (18, 6), (19, 19), (20, 0), (38, 0), (38, 10), (38, 38))
DECIMALS = tuple(decimal(precision, scale) for precision, scale in _DIGITS)
PLAIN_TYPES = (
    INTEGER, LONG, DOUBLE, STRING, BOOLEAN, BYTE, SHORT, FLOAT, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ,
)  # fmt: skip
TYPES: tuple[Type, ...] = (*PLAIN_TYPES, *DECIMALS)

EXACT_DOUBLE_MAX = 2**53  # above it, neighbouring integers share a double
DAY_MIN, DAY_MAX = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, the years that SQL text can spell
US_PER_DAY = 86_400_000_000
US_MIN, US_MAX = DAY_MIN * US_PER_DAY, (DAY_MAX + 1) * US_PER_DAY - 1

_NASTY_DOUBLES = (
    0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308,
    1.7976931348623157e308, -1.7976931348623157e308, 0.1, float(2**53 - 1), float(2**53), float(2**53 + 2),
)  # fmt: skip
_NASTY_FLOATS = (
    0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 2.0**-149, -(2.0**-149), 2.0**-126,
    (2 - 2.0**-23) * 2.0**127, -(2 - 2.0**-23) * 2.0**127, float(2**24 - 1), float(2**24),
)  # fmt: skip
# U+E000 sorts below U+10000 in UTF-8 and above it in UTF-16; U+D7FF is the last before the surrogates.
_NASTY_TEXTS = (
    "", "a", "A", "ab", "a ", " ", "\0", "\t", "a\0", "\x7f", "%", "_", "\\", "a%", "a_b", "a\\b", "%_\\",
    "\u00e9", "e\u0301", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001f600", "\U0010ffff",
    "\U0010ffff" * 2, "'", '"', "`", "\n",
)  # fmt: skip
_NASTY_BINARIES = (b"", b"\0", b"a", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"a\xff", b"\xed\xa0\x80")
# Lengths around which writers truncate their bounds.
_PREFIX_LENGTHS = (15, 16, 17, 32, 33, 63, 64, 65)
# The proleptic days 1582-10-05 to 14 do not exist in the hybrid calendar of old writers.
_NASTY_DAYS = (0, 1, -1, DAY_MIN, DAY_MIN + 1, -141_438, -141_437, -141_428, -141_427, -25_567, DAY_MAX)
_NASTY_MICROSECONDS = (
    0, 1, -1, 999, 1_000, 1_500, -999, -1_001, US_MIN, US_MIN + 1, -141_427 * US_PER_DAY - 1,
    -2_208_988_800_000_001, -2_717_668_800_000_000, 1_577_836_800_000_001, 1_577_836_800_000_999,
    US_MAX - 999, US_MAX,
)  # fmt: skip


@functools.cache
def types() -> SearchStrategy[Type]:
    """SQL types, each family about equally often; strings, where most goes wrong, twice as often.

    Shrinks to: int.
    """
    families = [st.just(type_) for type_ in (*PLAIN_TYPES, STRING)]
    return st.one_of(*families, st.sampled_from(DECIMALS))


@functools.cache
def values(type_: Type, *, malformed_utf8: bool = False) -> SearchStrategy[Value]:
    """Non-NULL values of a type; `malformed_utf8` lets strings hold bytes that are not UTF-8.

    Shrinks to: false, zero, the empty string, the epoch.
    """
    match type_.kind:
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.BYTE | Kind.SHORT | Kind.INTEGER | Kind.LONG:
            return _integers(type_)
        case Kind.DOUBLE:
            return st.sampled_from(_NASTY_DOUBLES) | st.floats()
        case Kind.FLOAT:
            return st.sampled_from(_NASTY_FLOATS) | st.floats(width=32)
        case Kind.DECIMAL:
            return _decimals(type_)
        case Kind.STRING:
            return _strings() | st.sampled_from(_NASTY_BINARIES) if malformed_utf8 else _strings()
        case Kind.BINARY:
            return st.sampled_from(_NASTY_BINARIES) | _strings() | st.binary(max_size=3)
        case Kind.DATE:
            return st.sampled_from(_NASTY_DAYS) | st.integers(DAY_MIN, DAY_MAX)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return st.sampled_from(_NASTY_MICROSECONDS) | st.integers(US_MIN, US_MAX)
        case _:
            raise ValueError(
                f"no value of type {type_} can be drawn; use one of strategies.base.values.TYPES"
            )


@functools.cache
def pools(
    type_: Type, *, min_size: int = 1, max_size: int = 5, malformed_utf8: bool = False
) -> SearchStrategy[tuple[Value, ...]]:
    """Few values that rows and literals share; half of them are often next to one another.

    Shrinks to: one simple value.
    """
    seeds = st.lists(values(type_, malformed_utf8=malformed_utf8), min_size=min_size, max_size=max_size)
    return st.tuples(seeds, st.booleans()).map(
        lambda pair: tuple(pair[0] + list(neighbours(pair[0][0], type_)) if pair[1] else pair[0])
    )


def neighbours(value: Value, type_: Type) -> tuple[Value, ...]:
    """Return values just below and just above a value, and those that truncation confuses with it."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, float):
        return _near_float(value, type_)
    if isinstance(value, Decimal):
        near = (digits_of(value) + step for step in (-1, 1))
        return tuple(decimal_of(digits, type_.scale) for digits in near if abs(digits) < 10**type_.precision)
    if isinstance(value, bytes):
        return _near_text(value) if type_.kind is Kind.STRING else (value + b"\0", value[:-1])
    if type_.integral:
        return _within(type_.integer_range, (value - 1, value + 1))
    if type_.kind is Kind.DATE:
        return _within((DAY_MIN, DAY_MAX), (value - 1, value + 1))
    # Statistics in milliseconds confuse a timestamp with its whole millisecond.
    return _within((US_MIN, US_MAX), (value - 1, value + 1, value // 1000 * 1000, value + 1000))


def decimal_of(digits: int, scale: int) -> Decimal:
    """Return the decimal digits * 10**-scale, exact at any length; zero has no sign."""
    return Decimal((int(digits < 0), tuple(int(digit) for digit in str(abs(digits))), -scale))


def digits_of(value: Decimal) -> int:
    """Return all digits of a decimal as one integer: the inverse of `decimal_of`."""
    sign, digits, _ = value.as_tuple()
    magnitude = int("".join(map(str, digits)))
    return -magnitude if sign else magnitude


def to_float32(value: float) -> float:
    """Return the nearest 32-bit float; infinity if the value is out of range."""
    try:
        (narrow,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(narrow)


@functools.cache
def _integers(type_: Type) -> SearchStrategy[Value]:
    limits = type_.integer_range
    assert limits is not None
    low, high = limits
    nasty = [0, 1, -1, high, low, high - 1, low + 1]
    if high > EXACT_DOUBLE_MAX:
        nasty += [sign * (EXACT_DOUBLE_MAX + step) for sign in (1, -1) for step in (-1, 0, 1)]
    return st.integers(-3, 3) | st.sampled_from(nasty) | st.integers(low, high)


@functools.cache
def _decimals(type_: Type) -> SearchStrategy[Value]:
    limit = 10**type_.precision - 1
    unit = 10**type_.scale
    nasty = [0, 1, -1, limit, -limit, limit - 1, *([unit, unit + 1, -unit] if unit <= limit - 1 else [])]
    # A short decimal and a long one of the same column differ in encoded width.
    digits = st.sampled_from(nasty) | st.integers(-3, 3) | st.integers(-limit, limit)
    return digits.map(lambda digits: decimal_of(digits, type_.scale))


@functools.cache
def _strings() -> SearchStrategy[Value]:
    tail = st.text(alphabet="ab%_\\\U0010ffff", max_size=3)
    long = st.builds(
        lambda character, length, end: character * length + end,
        st.sampled_from("aa\u00e9\U0010ffff"),
        st.sampled_from(_PREFIX_LENGTHS),
        tail,
    )
    free = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    return (st.sampled_from(_NASTY_TEXTS) | tail | long | free).map(lambda text: text.encode())


def _near_float(value: float, type_: Type) -> tuple[Value, ...]:
    if math.isnan(value):
        return (math.inf, -math.inf)
    if value == 0:
        return (-value, 5e-324 if type_ == DOUBLE else 2.0**-149)
    if type_ == DOUBLE:
        return (math.nextafter(value, -math.inf), math.nextafter(value, math.inf))
    if math.isinf(value):
        return (-value,)
    # Floats of one sign are ordered as their bits are.
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return tuple(struct.unpack("<f", struct.pack("<I", bits + step))[0] for step in (-1, 1))


def _near_text(value: bytes) -> tuple[Value, ...]:
    text = value.decode("utf-8", "ignore")
    longer = (text + "\0", text + "\U0010ffff")
    if not text:
        return tuple(near.encode() for near in longer)
    return tuple(near.encode() for near in (*longer, text[:-1], text[:-1] + _next_character(text[-1])))


def _next_character(character: str) -> str:
    """Return the next code point in UTF-8 order, the same one at the end; surrogates are not characters."""
    code = min(ord(character) + 1, 0x10FFFF)
    return chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)


def _within(limits: tuple[int, int] | None, candidates: tuple[int, ...]) -> tuple[Value, ...]:
    assert limits is not None
    return tuple(candidate for candidate in candidates if limits[0] <= candidate <= limits[1])
