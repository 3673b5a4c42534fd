"""TEXT-5: the texts that a cast makes a wanted date or time of are in the cast's preimage."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from decimal import Decimal

import pytest
from budget import examples
from date_meanings import DAY, HOUR, Spelled, date_of, days_of, is_alone, texts, time_of
from hypothesis import given
from hypothesis import strategies as st
from searches import find
from small_languages import UNSHRUNK

from mutants.rules.date_spellings import MUTANTS
from pruning.expressions.trees import Cast, Column, Expression, Literal, Mode
from pruning.expressions.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from pruning.rules.families import casts
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import NOTHING, NULL_ONLY, NUMBERS, ValueSet
from pruning.rules.sets.value_sets import Values
from pruning.rules.time import date_spellings

S = Column("s", STRING)
TYPES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
LOST = (Mode.TRY, Mode.LEGACY)
NEW_YORK = "America/New_York"
MARCH = days_of(2024, 3, 1)
assert MARCH is not None


def preimage(type_: Type, wanted: ValueSet, *, mode: Mode = Mode.TRY, zone: str = "UTC") -> ValueSet:
    assert casts.CAST.preimage is not None
    found = casts.CAST.preimage(Cast(S, type_, mode, zone), wanted)
    assert found is not None
    assert found[0] is S
    return found[1]


def values_of(type_: Type, wanted: Cuts, zone: str = "UTC") -> Values:
    return preimage(type_, ValueSet(wanted), zone=zone).cuts


def sets(type_: Type) -> dict[str, Cuts]:
    """Sets whose ends lie in, at the start and at the end of years, months, days, hours."""
    unit = 1 if type_ == DATE else DAY
    noon = 0 if type_ == DATE else 12 * HOUR + 30 * HOUR // 60 + 45_000_000
    dates = ((2024, 1, 1), (2024, 2, 29), (-1, 12, 31), (10_000, 1, 1), (1900, 3, 1))
    january, leap, ancient, far, old = (unit * end for date in dates if (end := days_of(*date)) is not None)
    return {
        "one": cuts.of_values([unit * MARCH + noon], type_),
        "midnight": cuts.of_values([unit * MARCH], type_),
        "from": cuts.above(unit * MARCH + noon, type_, inclusive=True),
        "below": cuts.below(unit * MARCH + noon, type_, inclusive=False),
        "a year": cuts.between(january, january + 366 * unit - 1, type_),
        "around a year": cuts.complement(cuts.between(january, january + 366 * unit - 1, type_)),
        "some": cuts.of_values([leap, ancient, far, old, unit * MARCH + 3 * noon // 2], type_),
        "old": cuts.below(ancient, type_, inclusive=True),
        "far": cuts.above(far, type_, inclusive=False),
        "but one": cuts.complement(cuts.of_values([leap], type_)),
        "all": cuts.FULL,
    }


def meaning(type_: Type, text: bytes) -> Spelled | None:
    if type_ != DATE:
        return time_of(text)
    days = date_of(text)
    return None if days is None else Spelled(days)


def check(type_: Type, wanted: Cuts, found: Values, text: bytes) -> None:
    """By the definition, in UTC: what is spelled and wanted is in the set; without a zone, only that is."""
    spelled = meaning(type_, text)
    if spelled is None:
        assert not found.holds(text) or (type_ == TIMESTAMP and is_alone(text)), text
    elif not spelled.zone or type_ == TIMESTAMP_NTZ:
        assert found.holds(text) is wanted.holds(spelled.local), text
    elif any(wanted.holds(spelled.local - offset) for offset in (-18 * HOUR, 0, 18 * HOUR)):
        assert found.holds(text), text


TEXTS = tuple(dict.fromkeys(texts()))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_what_spells_a_wanted_time_is_in_the_set(type_: Type) -> None:
    """TEXT-5, by the definition."""
    for wanted in sets(type_).values():
        found = values_of(type_, wanted)
        for text in TEXTS:
            check(type_, wanted, found, text)


def calendar_texts() -> Iterator[bytes]:
    """Each month and day, such as there are and such as there are not, of years of each kind."""
    for year, month, day in itertools.product((1899, 1900, 2000, 2023, 2024, 2025), range(14), range(33)):
        yield f"{year}-{month:02}-{day:02}".encode()
        yield f"{year}-{month}-{day} ".encode()


def test_canonical_dates_are_told_exactly() -> None:
    """None outside the interval is in the set, none inside is not: over every day of six years."""
    canonical = list(calendar_texts())
    for wanted in sets(DATE).values():
        found = values_of(DATE, wanted)
        for text in canonical:
            days = date_of(text)
            assert found.holds(text) is (days is not None and wanted.holds(days)), text


@functools.cache
def numbers(most: int) -> st.SearchStrategy[str]:
    """Numbers of one digit or more, some with a 0 before them."""
    return st.builds(lambda number, width: str(number).zfill(width), st.integers(0, most), st.integers(1, 2))


@st.composite
def spelled_texts(draw: st.DrawFn) -> bytes:
    """Texts as people and programs write them, with what may go wrong in each place."""
    year = draw(st.sampled_from([2023, 2024, 1900, 4, 99_999, 999_999]) | st.integers(0, 9_999_999))
    sign = draw(st.sampled_from(["", "", "", "+", "-"]))
    parts = [sign + str(year).zfill(draw(st.integers(3, 7)))]
    parts += [draw(numbers(32)) for _ in range(draw(st.integers(0, 2)))]
    clock = [draw(numbers(61)) for _ in range(draw(st.integers(0, 3)))]
    fraction = draw(st.sampled_from(["", "", ".", ".5", ".000001", ".1234567"]))
    zone = draw(st.sampled_from(["", "", "", "Z", "+05:30", " UTC", "-18:00", "-1"]))
    text = "-".join(parts) + draw(st.sampled_from([" ", "T", ""])) + ":".join(clock) + fraction + zone
    before, after = (draw(st.sampled_from(each)) for each in ([b"", b" ", b"\t"], [b"", b" ", b"\n\0"]))
    return before + text.encode() + after


@st.composite
def wanted_sets(draw: st.DrawFn, type_: Type, text: bytes) -> Cuts:
    """Intervals whose ends are near what a text spells."""
    spelled = meaning(type_, text) or Spelled(MARCH * (1 if type_ == DATE else DAY))
    steps = (0, 1, -1, 2, 400) if type_ == DATE else (0, 1, -1, 500_000, HOUR, -HOUR, DAY, -DAY, 400 * DAY)
    ends = sorted(spelled.local + draw(st.sampled_from(steps)) for _ in range(draw(st.integers(1, 4))))
    wanted = cuts.FULL
    for end in ends:
        half = draw(st.sampled_from([cuts.above, cuts.below]))(end, type_, inclusive=draw(st.booleans()))
        wanted = draw(st.sampled_from([cuts.union, cuts.intersection]))(wanted, half)
    return cuts.complement(wanted) if draw(st.booleans()) else wanted


@pytest.mark.parametrize("type_", TYPES, ids=str)
@examples(2)
@given(st.data())
def test_texts_near_the_ends_of_a_set_are_told_exactly(type_: Type, data: st.DataObject) -> None:
    text = data.draw(spelled_texts())
    wanted = data.draw(wanted_sets(type_, text))
    check(type_, wanted, values_of(type_, wanted), text)


@pytest.mark.parametrize("zoned", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
def test_such_texts_reach_what_is_and_is_not_wanted(zoned: bool, wanted: bool) -> None:
    """Without this the property could hold because no text is a time."""
    noon = cuts.above(MARCH * DAY + 12 * HOUR, TIMESTAMP, inclusive=True)

    def reached(text: bytes) -> bool:
        spelled = time_of(text)
        return spelled is not None and bool(spelled.zone) is zoned and noon.holds(spelled.local) is wanted

    find(spelled_texts(), reached, settings=UNSHRUNK)


def fits(spelled: Spelled, type_: Type) -> bool:
    return abs(spelled.local) < (2**31 if type_ == DATE else 2**63)


@pytest.mark.parametrize("mode", LOST)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_what_is_not_read_is_null_and_what_surely_is_is_not(type_: Type, mode: Mode) -> None:
    """A date of these few thousand years, and a time that names no zone, is surely read."""
    found = preimage(type_, NULL_ONLY, mode=mode)
    assert found.null
    for text in (*TEXTS, *calendar_texts()):
        spelled = meaning(type_, text)
        if spelled is None or not fits(spelled, type_):
            assert found.cuts.holds(text), text
        elif not spelled.zone and abs(spelled.local) < (1 if type_ == DATE else DAY) * 73_000_000:
            assert not found.cuts.holds(text), text


def test_a_time_alone_may_be_of_any_day() -> None:
    """Spark takes the day of the query; a time without a zone has none."""
    for wanted in sets(TIMESTAMP).values():
        found = values_of(TIMESTAMP, wanted)
        assert all(
            found.holds(text) for text in (b"12:30", b"T12", b"T1:2:3.4", b"1:2:3Z", b"\t12:30", b" T12")
        )
    assert not any(values_of(type_, cuts.FULL).holds(b"12:30") for type_ in (DATE, TIMESTAMP_NTZ))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_under_ansi_null_comes_of_null_alone(type_: Type) -> None:
    assert preimage(type_, NULL_ONLY, mode=Mode.ANSI) == NULL_ONLY
    assert preimage(type_, NOTHING, mode=Mode.ANSI) == NOTHING
    assert not preimage(type_, NUMBERS, mode=Mode.ANSI).cuts.holds(b"omega")
    assert preimage(type_, ValueSet(cuts.FULL, null=True), mode=Mode.TRY) == ValueSet(cuts.FULL, null=True)


def test_casts_of_constants_are_left_alone() -> None:
    """Of them Spark reads `epoch` as a date."""
    assert casts.CAST.preimage is not None
    word = Literal(b"epoch", STRING)
    operands: list[Expression] = [word, Cast(word, STRING, Mode.ANSI)]
    for operand in operands:
        assert casts.CAST.preimage(Cast(operand, DATE, Mode.TRY), NULL_ONLY) is None


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_many_values_are_told_by_the_day_or_by_what_is_around_them(type_: Type) -> None:
    unit = 1 if type_ == DATE else DAY
    for count in (25, 500):
        wanted = cuts.of_values([unit * (MARCH + 2 * place) for place in range(count)], type_)
        found = values_of(type_, wanted)
        assert found.holds(b"2024-03-03 00:00:00")
        assert not found.holds(b"2024-02-20")
        assert found.holds(b"2024-03-02") is (count == 500)
        assert not found.holds(b"2029-01-01")
        assert not found.full


Row = tuple[bytes, dict[Type, int | None]]
# Of a time without a zone, in no zone: the day and the time of day, with more digits than a bigint has.
MICROS_OF_NTZ = (
    "cast(unix_date(cast(n as date)) as decimal(20)) * 86400000000"
    " + (hour(n) * 60 + minute(n)) * 60000000L + cast(extract(second from n) * 1000000 as bigint)"
)
CASTS = [f"try_cast(s as {type_}) {name}" for name, type_ in zip("dtn", TYPES, strict=True)]


def read_by_spark(spark, zone: str, values: Iterable[bytes]) -> list[Row]:
    """What Spark reads in each text, in one query."""
    previous = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
        read = frame.selectExpr("b", "cast(b as string) s").selectExpr("b", *CASTS)
        rows = read.selectExpr("b", "unix_date(d)", "unix_micros(t)", MICROS_OF_NTZ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", previous)
    return [(bytes(text), dict(zip(TYPES, map(whole, found), strict=True))) for text, *found in rows]


def whole(number: Decimal | int | None) -> int | None:
    return None if number is None else int(number)


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "Asia/Kolkata"])
def test_spark_reads_what_the_sets_say(spark, zone: str) -> None:
    """TEXT-5 and axiom SPELLING: one query a zone, and around changes of its offset."""
    changes = [b"2024-03-10 02:30:00", b"2024-11-03 01:30:00", b"1883-11-18 12:00:00"]
    rows = read_by_spark(spark, zone, [*TEXTS, *changes, *itertools.islice(calendar_texts(), 0, None, 7)])
    assert all(any(row[1][type_] is not None for row in rows) for type_ in TYPES)
    for type_ in TYPES:
        unread = preimage(type_, NULL_ONLY, zone=zone).cuts
        near = [value for text, read in rows if text in changes and (value := read[type_]) is not None]
        for wanted in (*sets(type_).values(), cuts.of_values(near, type_)):
            found = values_of(type_, wanted, zone)
            for text, read in rows:
                check_read(found, unread, text, read[type_], type_, wanted)


def check_read(
    found: Values, unread: Values, text: bytes, value: int | None, type_: Type, wanted: Cuts
) -> None:
    spelled = meaning(type_, text)
    if value is None:
        assert unread.holds(text), text
    elif wanted.holds(value):
        assert found.holds(text), (text, value)
    elif spelled is not None and not spelled.zone:
        assert not found.holds(text), (text, value)
    assert value is None or spelled is not None or (type_ == TIMESTAMP and is_alone(text)), text


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_dies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    date_spellings.spellings.cache_clear()
    try:
        with pytest.raises(AssertionError):
            check_definition()
    finally:
        date_spellings.spellings.cache_clear()


def check_definition() -> None:
    test_a_time_alone_may_be_of_any_day()
    for type_ in TYPES:
        test_what_spells_a_wanted_time_is_in_the_set(type_)
        test_what_is_not_read_is_null_and_what_surely_is_is_not(type_, Mode.TRY)
