"""TIME-2 (axiom ZONES): local times and instants are those of Python and Java, in gaps and overlaps."""

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from searches import find
from times import HOUR, ZONES, drawn_instants, drawn_locals, instants, known, transitions

from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import zone_rules, zones
from pruning.rules.time.steps import MICROS_MAX
from pruning.rules.time.zones import PERIOD_MICROS, PiecewiseShift

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
NAMED = tuple(name for name in ZONES if "/" in name)
SHIFTS = ("local", "earliest", "latest")


def micros(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


def is_gap(name: str, local: int) -> bool:
    zone = known(name)
    return zone.local.at(zone.earliest.at(local)) != local


def is_overlap(name: str, local: int) -> bool:
    zone = known(name)
    return zone.earliest.at(local) != zone.latest.at(local)


@given(st.data(), st.sampled_from(NAMED))
def test_local_time_is_that_of_python(data: st.DataObject, name: str) -> None:
    instant = data.draw(drawn_instants(name))
    if not micros("0001-01-03") < instant < micros("9999-12-29"):
        return
    moment = EPOCH + datetime.timedelta(microseconds=instant)
    local = moment.astimezone(ZoneInfo(name)).replace(tzinfo=datetime.UTC)
    assert known(name).local.at(instant) == (local - EPOCH) // datetime.timedelta(microseconds=1)


@given(st.data(), st.sampled_from(ZONES))
def test_an_instant_has_the_local_time_it_came_from_or_the_gap_is_added(
    data: st.DataObject, name: str
) -> None:
    zone, local = known(name), data.draw(drawn_instants(name))
    first, last = zone.earliest.at(local), zone.latest.at(local)
    assert first <= last
    if not is_gap(name, local):
        assert zone.local.at(first) == zone.local.at(last) == local
        assert all(zone.local.at(first - more) != local for more in (HOUR // 2, HOUR, 2 * HOUR))
    else:
        assert first == last
        moved = zone.local.at(first) - local
        assert 0 < moved <= 2 * MICROS_PER_DAY
        assert zone.midnight(local // MICROS_PER_DAY) <= first


@given(st.data(), st.sampled_from(ZONES), st.sampled_from(SHIFTS))
def test_the_least_later_and_the_greatest_earlier_value_enclose_and_never_decrease(
    data: st.DataObject, name: str, which: str
) -> None:
    shifts: PiecewiseShift = getattr(known(name), which)
    low, high = sorted(data.draw(st.tuples(drawn_instants(name), drawn_instants(name))))
    near = low + data.draw(st.integers(0, 3 * HOUR))
    for one, other in ((low, high), (low, near)):
        assert shifts.least_from(one) <= shifts.at(other)
        assert shifts.at(one) <= shifts.greatest_to(other)
        assert shifts.least_from(one) <= shifts.least_from(other)
        assert shifts.greatest_to(one) <= shifts.greatest_to(other)


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize("which", SHIFTS)
def test_the_least_later_and_the_greatest_earlier_value_are_attained(name: str, which: str) -> None:
    """No bound is looser than it must be: some number within two days has it."""
    shifts: PiecewiseShift = getattr(known(name), which)
    for number in instants(name)[::7]:
        ends = [end for _, end, _ in shifts.pieces(number, number + zones.REACH_MICROS) if end is not None]
        assert shifts.least_from(number) == min(shifts.at(place) for place in (number, *ends))
        starts = [
            start for start, _, _ in shifts.pieces(number - zones.REACH_MICROS, number) if start is not None
        ]
        assert shifts.greatest_to(number) == max(
            shifts.at(place) for place in (number, *(start - 1 for start in starts))
        )


@given(st.data(), st.sampled_from(ZONES), st.sampled_from(SHIFTS))
def test_below_holds_exactly_the_numbers_on_which_the_function_is_below(
    data: st.DataObject, name: str, which: str
) -> None:
    shifts: PiecewiseShift = getattr(known(name), which)
    value = data.draw(drawn_locals(name))
    number = data.draw(drawn_instants(name) | st.integers(value - 30 * HOUR, value + 30 * HOUR))
    below: Cuts = shifts.below(value)
    assert below.holds(number) is (shifts.at(number) < value)


@examples(4)
@given(st.data(), st.sampled_from(NAMED), st.integers(1, 700))
def test_yearly_rules_repeat_with_the_calendar(data: st.DataObject, name: str, periods: int) -> None:
    """What is said of a far year is what is said of the same year 400 years times some number before."""
    shifts = known(name).local
    if shifts.repeats_from is None:
        return
    instant = shifts.repeats_from + data.draw(st.integers(0, PERIOD_MICROS))
    later = instant + periods * PERIOD_MICROS
    if later <= MICROS_MAX:
        assert shifts.at(later) - later == shifts.at(instant) - instant
        assert shifts.least_from(later) - later == shifts.least_from(instant) - instant


@pytest.mark.parametrize("name", NAMED)
def test_javas_transitions_are_ours(spark: Any, name: str) -> None:
    """Those that are listed, and those of the yearly rule, the first ones and some far ones."""
    rules = spark.sparkContext._jvm.java.time.ZoneId.of(name).getRules()
    theirs = [transition.toEpochSecond() * 1_000_000 for transition in rules.getTransitions()]
    instant = spark.sparkContext._jvm.java.time.Instant
    for start in (theirs[-1] // 1_000_000, 60_000_000_000, 9_000_000_000_000):
        at = instant.ofEpochSecond(start)
        for _ in range(4):
            following = rules.nextTransition(at)
            if following is None:
                break
            at = following.getInstant()
            theirs.append(at.getEpochSecond() * 1_000_000)
    shifts = known(name).local
    until = theirs[rules.getTransitions().size() - 1]
    assert [start for start in shifts.starts if start <= until] == theirs[: rules.getTransitions().size()]
    for start in theirs:
        assert shifts.at(start) - start != shifts.at(start - 1) - (start - 1)
        assert (shifts.at(start) - start) // 1_000_000 == rules.getOffset(
            instant.ofEpochSecond(start // 1_000_000)
        ).getTotalSeconds()


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0),
        ("Z", 0),
        ("+05:30", 5.5),
        ("-08", -8),
        ("GMT+3", 3),
        ("UTC-01:00", -1),
        ("+18:00", 18),
        ("Etc/GMT+3", -3),
    ],
)
def test_fixed_offsets_are_known(name: str, hours: float) -> None:
    assert known(name).local.at(0) == int(hours * HOUR)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "EST",
        "+18:01",
        "America/Nowhere",
        "../../etc/passwd",
        "America",
        "+5:75",
        "x/y",
        "leapseconds",
        "MST",
    ],
)
def test_other_names_are_not_known(name: str) -> None:
    """Java has zones of three letters, too, but not all of them are what others call so."""
    assert zones.zone(name) is None


def test_a_footer_without_meaning_makes_a_zone_unknown() -> None:
    assert zone_rules._parse_footer("EST5EDT") is None
    assert zone_rules._parse_footer("<-02>2<-01>,M3.5.0/-1,M10.5.0/0") == zone_rules.YearlyRule(
        standard=-7200, daylight=-3600, starts=("M3.5.0", -3600), ends=("M10.5.0", 0)
    )
    assert zone_rules._parse_footer("<+0545>-5:45") == 20_700


@pytest.mark.parametrize(("date", "expected"), [("J60", 60), ("59", 59), ("J59", 58)])
def test_dates_of_rules_count_february_29_or_not(date: str, expected: int) -> None:
    """In a leap year: day 60 without it is March 1, day 59 from 0 on is February 29."""
    start = zone_rules._day(2024, "0")
    assert zone_rules._day(2024, date) - start == expected


@pytest.mark.parametrize("happens", [is_gap, is_overlap])
@pytest.mark.parametrize(
    "name", ["America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"]
)
def test_draws_reach_gaps_and_overlaps(name: str, happens: Any) -> None:
    assert happens(name, find(drawn_locals(name), lambda local: happens(name, local)))


def test_a_date_may_come_twice_or_never() -> None:
    """St. John's clocks went back from 00:01 to 23:01; Samoa had no 30th of December 2011."""
    newfoundland = known("America/St_Johns").local
    back = next(start for start in transitions("America/St_Johns") if start > micros("1990-10-01"))
    days = [newfoundland.at(back + more * 60_000_000) // MICROS_PER_DAY for more in (-2, -1, 0, 59)]
    assert [day - days[0] for day in days] == [0, 1, 0, 1]
    skipped = micros("2011-12-30") // MICROS_PER_DAY
    samoa = known("Pacific/Apia")
    assert samoa.midnight(skipped) == samoa.midnight(skipped + 1)
    assert samoa.local.at(samoa.midnight(skipped)) // MICROS_PER_DAY == skipped + 1


class TestMutants:
    """Mistakes that the properties above see."""

    def test_the_later_offset_in_an_overlap_is_another_instant(self) -> None:
        local = micros("2024-11-03T01:30:00")
        zone = known("America/New_York")
        assert zone.latest.at(local) - zone.earliest.at(local) == HOUR

    def test_a_gap_shifted_backward_is_another_instant(self) -> None:
        local, zone = micros("2024-03-10T02:30:00"), known("America/New_York")
        assert zone.local.at(zone.earliest.at(local)) == micros("2024-03-10T03:30:00")

    def test_local_time_is_not_monotone(self) -> None:
        local, back = known("America/New_York").local, micros("2024-11-03T06:00:00")
        assert local.at(back) < local.at(back - 1)
        assert local.least_from(back - 1) == local.at(back)
        assert local.greatest_to(back) == local.at(back - 1)
