"""PRIM-1: the exact primitives are right, by definitions that share nothing with them; and the axioms."""

import functools
import math
import re
import struct
import zoneinfo
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pruning.expressions.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    Type,
    Value,
    decimal,
)
from pruning.rules.sets import primitives
from pruning.rules.text import like_patterns
from strategies.base.values import DECIMALS, TYPES, values

STEPPED = tuple(type_ for type_ in TYPES if primitives.has_steps(type_))


@functools.cache
def finite(type_: Type) -> st.SearchStrategy[Value]:
    """Values that are not NaN."""
    return values(type_).filter(lambda value: not (isinstance(value, float) and math.isnan(value)))


def in_type(number: Fraction, type_: Type) -> bool:
    """Whether an exact number is a value of an integral or decimal type."""
    if type_ in DECIMALS:
        unscaled = number * 10**type_.scale
        return unscaled.denominator == 1 and abs(unscaled) < 10**type_.precision
    assert type_.integer_range is not None
    return type_.integer_range[0] <= number <= type_.integer_range[1]


@given(st.data(), st.sampled_from(STEPPED), st.sampled_from((1, -1)))
def test_add_is_exact_or_unknown(data: st.DataObject, type_: Type, sign: int) -> None:
    left, right = data.draw(finite(type_)), data.draw(finite(type_))
    exact = Fraction(left) + sign * Fraction(right)
    total = primitives.add(left, right, type_, sign=sign)
    assert (total is not None) == in_type(exact, type_)
    assert total is None or Fraction(total) == exact


@given(finite(DOUBLE), finite(DOUBLE), finite(DOUBLE), finite(DOUBLE), st.sampled_from((DOUBLE, FLOAT)))
def test_float_addition_is_monotone(a: float, b: float, c: float, d: float, type_: Type) -> None:
    """Axiom ROUNDING: a <= b and c <= d give a + c <= b + d, in both widths."""
    if type_ == FLOAT:
        a, b, c, d = (primitives.to_float32(value) for value in (a, b, c, d))
    (a, b), (c, d) = sorted((a, b)), sorted((c, d))
    least, greatest = primitives.add(a, c, type_), primitives.add(b, d, type_)
    assert least is None or greatest is None or primitives.at_most(least, greatest)


@given(st.floats(allow_nan=False))
def test_to_float32_gives_the_nearest(value: float) -> None:
    narrow = primitives.to_float32(value)
    bits = struct.pack("<f", narrow)
    assert struct.unpack("<f", bits)[0] == narrow
    if math.isfinite(value) and math.isfinite(narrow) and narrow:
        spacing = max(math.ulp(narrow) * 2**29, 2.0**-149)  # a float has 29 bits less than a double
        assert abs(Fraction(narrow) - Fraction(value)) <= Fraction(spacing) / 2


@given(st.data(), st.sampled_from(STEPPED), st.sampled_from((1, -1)))
def test_step_leaves_nothing_between(data: st.DataObject, type_: Type, sign: int) -> None:
    value = data.draw(finite(type_))
    unit = Fraction(1, 10**type_.scale)
    stepped = primitives.step(value, type_, sign=sign)
    if stepped is None:
        assert not in_type(Fraction(value) + sign * unit, type_)
    else:
        assert Fraction(stepped) - Fraction(value) == sign * unit


@given(st.data(), st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_casts_keep_the_order(data: st.DataObject, source: Type, target: Type) -> None:
    assume(primitives.keeps_order(source, target))
    low, high = sorted((data.draw(finite(source)), data.draw(finite(source))))
    casts = primitives.cast(low, source, target), primitives.cast(high, source, target)
    assert None in casts or primitives.at_most(*casts)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_cast_to_the_nearest_float(value: int) -> None:
    narrow = primitives.cast(value, LONG, FLOAT)
    candidates = [primitives.to_float32(float(value) * factor) for factor in (1 - 2**-22, 1.0, 1 + 2**-22)]
    assert isinstance(narrow, float)
    assert all(abs(Fraction(narrow) - value) <= abs(Fraction(other) - value) for other in candidates)


def test_a_long_is_rounded_to_a_float_once() -> None:
    """2^60 + 2^36 + 1 lies above a tie of floats; by way of a double it becomes the tie and goes down."""
    assert primitives.cast(2**60 + 2**36 + 1, LONG, FLOAT) == float(2**60 + 2**37)


@given(values(BINARY), values(BINARY))
def test_a_prefix_is_an_interval_of_bytes(prefix: bytes, value: bytes) -> None:
    """Axiom PREFIX."""
    end = primitives.prefix_end(prefix)
    assert value.startswith(prefix) == (prefix <= value and (end is None or value < end))


@given(values(STRING), values(STRING))
def test_characters_are_in_the_order_of_their_bytes(left: bytes, right: bytes) -> None:
    """UTF-8 keeps the order of code points, so one order serves strings and binaries."""
    assert (left < right) == (left.decode() < right.decode())


@pytest.mark.parametrize("zone", sorted(zoneinfo.available_timezones()))
def test_no_zone_is_further_than_18_hours_from_utc(zone: str) -> None:
    """Axiom ZONE, over the zone database, local mean times included."""
    limit = timedelta(microseconds=primitives.ZONE_OFFSET_MICROS_MAX)
    for year in (1, 1582, 1850, 1900, 1945, 1970, 2011, 2024, 9998):
        offset = datetime(year, 7, 1, tzinfo=UTC).astimezone(zoneinfo.ZoneInfo(zone)).utcoffset()
        assert offset is not None
        assert abs(offset) <= limit


@given(st.text("ab%_\\é\ufffd", max_size=6), st.text("ab%_\\é\ufffd", max_size=6))
def test_a_like_prefix_is_of_every_match(pattern: str, text: str) -> None:
    """Against LIKE as a regular expression over characters."""
    assume(not re.search(r"\\(?![%_\\])", pattern.replace("\\\\", "")) and not pattern.endswith("\\"))
    tokens = re.findall(r"\\.|.", pattern)
    assume(all(len(token) == 2 or token != "\\" for token in tokens))
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(token) or re.escape(token[-1]) for token in tokens)
    prefix, rest = like_patterns.prefix(pattern.encode(), "\\")
    exact = bool(rest) and not rest.strip("%")
    matches = re.fullmatch(regex, text, re.DOTALL) is not None
    if exact:
        assert matches == text.encode().startswith(prefix)
    elif matches:
        assert text.encode().startswith(prefix)


@pytest.mark.parametrize(
    ("pattern", "prefix", "exact"),
    [
        ("N0%", b"N0", True),
        ("N0%%", b"N0", True),
        ("N0_", b"N0", False),
        ("N0%x", b"N0", False),
        ("N0", b"N0", False),  # an equality: more than a prefix
        (r"a\%b%", b"a%b", True),
        (r"a\_\\%", b"a_\\", True),
        ("a\ufffd%", b"a", False),  # bytes that are no UTF-8 match U+FFFD
        ("a\\", b"a", False),
        ("", b"", False),
        ("%", b"", True),
    ],
)
def test_like_prefix_of_known_patterns(pattern: str, prefix: bytes, exact: bool) -> None:
    found, rest = like_patterns.prefix(pattern.encode(), "\\")
    assert (found, bool(rest) and not rest.strip("%")) == (prefix, exact)


@pytest.mark.parametrize(
    ("left", "right", "type_", "total"),
    [
        (2**31 - 1, 1, INTEGER, None),
        (2**31 - 1, 0, INTEGER, 2**31 - 1),
        (-(2**63), -1, LONG, None),
        (1, 1, DATE, 2),
        (Decimal("9.99"), Decimal("0.01"), decimal(3, 2), None),
        (math.inf, -math.inf, DOUBLE, None),
        (1.7976931348623157e308, 1.7976931348623157e308, DOUBLE, math.inf),
        (b"a", b"b", STRING, None),
    ],
)
def test_add_at_the_limits(left: Value, right: Value, type_: Type, total: Value | None) -> None:
    assert primitives.add(left, right, type_) == total
