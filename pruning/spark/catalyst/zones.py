"""Checks that Java's rules of a time zone are those that the pruning rules use.

Axiom ZONES says that they are. But Java and Python each have their own copy of the tz database, possibly of
different years. So the axiom is checked here, once for each zone and Java machine.
"""

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.rules.time import zones
from pruning.spark.jvm.gateway import Java, jvm, singleton

# Yearly rules are compared up to this year at least, and for so many years that each kind of year occurs:
# leap years and others, beginning on any weekday.
LAST_YEAR = 2100
KINDS_YEARS = 60

_UTILITIES = "org.apache.spark.sql.catalyst.util.DateTimeUtils"
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = datetime.timedelta(days=1)
_MICROS = 1_000_000
_OFFSET = r"(Z|[+-]\d\d:\d\d(?::\d\d)?)"
_TRANSITION = re.compile(rf"Transition\[(?:Gap|Overlap) at (-?\d+-\d\d-\d\dT[\d:]+){_OFFSET} to {_OFFSET}\]")
_RULE = re.compile(
    rf"TransitionRule\[(?:Gap|Overlap) {_OFFSET} to {_OFFSET}, "
    r"(?:(?P<weekday>[A-Z]+DAY) (?P<side>on or (?:after|before last day(?: minus (?P<before>\d+))? of)) )?"
    r"(?P<month>[A-Z]+)(?: (?P<day>\d+))? at (?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d))? "
    rf"(?P<clock>WALL|UTC|STANDARD)[a-z ]*, standard offset {_OFFSET}\]"
)
_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE",
    "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip

# For each Java machine, Java's name of each zone that was checked; empty where the rules differ.
_trusted_names: WeakKeyDictionary[Java, dict[str, str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ZoneOffsets:
    """The first offset of a zone, and its transitions: the instant and the offset after it, all in us."""

    first_us: int
    transitions: tuple[tuple[int, int], ...]


def trusted_zone(spark: SparkSession, zone: str) -> str:
    """Return java.time's name of a zone if Java's rules of it are the pruning rules' own; else empty.

    Args:
        zone: A name as Spark takes it, such as "America/New_York", "+5:30", "GMT+3", or "PST" of old.
    """
    names = _trusted_names.setdefault(spark.sparkContext._gateway, {})
    if zone not in names:
        try:
            name = str(_zone_id(spark, zone).getId())
            names[zone] = name if _is_agreed(spark, zone, zones.zone(name)) else ""
        except (PySparkException, Py4JError, ValueError):
            # Java does not know the zone, or prints its rules in an unknown form.
            names[zone] = ""
    return names[zone]


def _zone_id(spark: SparkSession, zone: str) -> Java:
    return singleton(spark, _UTILITIES).getZoneId(zone)


def _is_agreed(spark: SparkSession, zone: str, assumed: zones.Zone | None) -> bool:
    if assumed is None:
        return False
    java, until_us = java_offsets(spark, zone)
    starts, shifts = assumed.local.starts, assumed.local.shifts
    python = [pair for pair in zip(starts, shifts[1:], strict=True) if pair[0] < until_us]
    return java == ZoneOffsets(shifts[0], tuple(python))


def java_offsets(spark: SparkSession, zone: str) -> tuple[ZoneOffsets, int]:
    """Return the offsets of a zone in Java and the instant up to which they are listed, in us; in few calls.

    Raises:
        ValueError: Java prints the rules in an unknown form.
    """
    rules = _zone_id(spark, zone).getRules()
    listed, yearly = str(rules.getTransitions().toString()), str(rules.getTransitionRules().toString())
    transitions, recurring = _TRANSITION.findall(listed), list(_RULE.finditer(yearly))
    if len(transitions) != listed.count("Transition[") or len(recurring) != yearly.count("TransitionRule["):
        raise ValueError(f"Java prints the rules of {zone} in an unknown way")
    transition_times = [
        (_microseconds(datetime.datetime.fromisoformat(local)) - _offset_us(before), _offset_us(after))
        for local, before, after in transitions
    ]
    if not transition_times:
        if recurring:
            raise ValueError(f"{zone} has rules from no year on")
        epoch = jvm(spark).java.time.Instant.EPOCH
        return ZoneOffsets(_offset_us(rules.getOffset(epoch).toString()), ()), _microseconds(
            datetime.datetime.max
        )
    first_us = _offset_us(transitions[0][1])
    year = (_EPOCH + datetime.timedelta(microseconds=transition_times[-1][0])).year
    last_year = max(LAST_YEAR, year + KINDS_YEARS)
    for later in range(year, last_year + 1):
        later_transitions = sorted(_yearly_transition(rule, later) for rule in recurring)
        transition_times.extend(pair for pair in later_transitions if pair[0] > transition_times[-1][0])
    until_us = _microseconds(datetime.datetime(last_year, 1, 1))
    return ZoneOffsets(first_us, tuple(_offset_changes(first_us, transition_times, until_us))), until_us


def _offset_changes(
    first_us: int, transitions: list[tuple[int, int]], until_us: int
) -> Iterator[tuple[int, int]]:
    """Yield the transitions up to an instant that change the offset."""
    for (_, before), (instant, after) in pairwise([(0, first_us), *transitions]):
        if after != before and instant < until_us:
            yield instant, after


def _yearly_transition(rule: re.Match[str], year: int) -> tuple[int, int]:
    """Return the instant at which a yearly rule changes the offset in a year, and the new offset; in us."""
    before, after, standard = (_offset_us(rule[place]) for place in (1, 2, rule.re.groups))
    time = datetime.timedelta(hours=int(rule["hour"]), minutes=int(rule["minute"]))
    local = _microseconds(_rule_date(rule, year) + time) + int(rule["second"] or 0) * _MICROS
    # The rule's time is local time, standard time, or UTC.
    clock = {"WALL": before, "STANDARD": standard, "UTC": 0}[rule["clock"]]
    return local - clock, after


def _rule_date(rule: re.Match[str], year: int) -> datetime.datetime:
    month = _MONTHS.index(rule["month"]) + 1
    if rule["day"] is not None:
        date = datetime.datetime(year, month, int(rule["day"]))
    else:
        date = (
            datetime.datetime(year + month // 12, month % 12 + 1, 1) - (int(rule["before"] or 0) + 1) * _DAY
        )
    if rule["weekday"] is None:
        return date
    distance = _WEEKDAYS.index(rule["weekday"]) - date.weekday()
    return date + distance % 7 * _DAY if rule["side"] == "on or after" else date - (-distance) % 7 * _DAY


def _microseconds(moment: datetime.datetime) -> int:
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1)


def _offset_us(text: str) -> int:
    if text == "Z":
        return 0
    hours, minutes, *seconds = (int(part) for part in text[1:].split(":"))
    size = (hours * 3_600 + minutes * 60 + sum(seconds)) * _MICROS
    return -size if text[0] == "-" else size
