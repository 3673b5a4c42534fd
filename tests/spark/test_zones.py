"""Time zones: whether Java and the pruning rules know the same rules is told zone by zone."""

import datetime
import zoneinfo

import pytest

import pruning
from pruning.expressions import types
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Call, Cast, Function, Opaque
from pruning.rules.time import zones as rules
from pruning.spark.catalyst import zones
from pruning.spark.drive.predicates import parse
from pruning.spark.jvm.gateway import jvm

COLUMNS = {"at": types.TIMESTAMP, "day": types.DATE, "s": types.STRING}


@pytest.fixture
def session_zone(spark):
    """Sets the session's time zone, until the end of the test."""
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key)
    yield lambda zone: spark.conf.set(key, zone)
    spark.conf.set(key, before)


@pytest.fixture
def no_memory(monkeypatch):
    """Forgets which zones were looked at before."""
    monkeypatch.setattr(zones, "_trusted_names", type(zones._trusted_names)())


NAMES = {
    "UTC": "UTC", "Z": "Z", "GMT": "GMT", "+05:30": "+05:30", "+5:30": "+05:30", "-1": "-01:00",
    "-01:30:15": "-01:30:15", "GMT+3": "GMT+03:00", "UTC+8": "UTC+08:00", "+18:00": "+18:00",
    "PST": "America/Los_Angeles", "EST": "-05:00", "America/New_York": "America/New_York",
    "Asia/Kathmandu": "Asia/Kathmandu", "Australia/Lord_Howe": "Australia/Lord_Howe",
    "Asia/Kolkata": "Asia/Kolkata", "Etc/GMT+5": "Etc/GMT+5", "Japan": "Japan", "Zulu": "Zulu",
}  # fmt: skip


@pytest.mark.parametrize("zone", NAMES)
def test_a_zone_goes_by_javas_name(spark, zone):
    assert zones.trusted_zone(spark, zone) == NAMES[zone]
    assert zones.trusted_zone(spark, zone)


@pytest.mark.parametrize("zone", ["gmt+3", "America/new_york", "Nowhere/Town", "", "+19:00"])
def test_what_is_no_zone_of_javas_does_not_agree(spark, zone):
    assert not zones.trusted_zone(spark, zone)


def test_all_zones_that_agree_have_the_offsets_that_java_gives(spark):
    """Every zone of Java's: where both know it, dense samples until 2100 tell a zone that differs."""
    names = jvm(spark).java.time.ZoneId.getAvailableZoneIds().toString()[1:-1].split(", ")
    agreeing = [name for name in names if zones.trusted_zone(spark, name)]
    differing = {
        name: differences(spark, name)
        for name in sorted(set(names) - set(agreeing))
        if name in zoneinfo.available_timezones() and rules.zone(name) is not None
    }
    # Another copy of the tz database on the machine may be as old as Java's; then nothing differs.
    assert len(agreeing) > 300
    assert all(differing.values()), {name: found for name, found in differing.items() if not found}
    assert not any(differences(spark, name) for name in agreeing[::20])


def differences(spark, name: str) -> list[int]:
    """The moments among samples, in us, at which Java and the rules give another offset."""
    java, until_us = zones.java_offsets(spark, name)
    assumed = rules.zone(name)
    assert assumed is not None
    start_us = -2_700_000_000 * 1_000_000
    moments = {*range(start_us, until_us, 30 * 86_400_000_000), start_us}
    moments |= {at + by for at, _ in java.transitions for by in (-1, 0)}
    moments |= {at + by for at in assumed.local.starts if at < until_us for by in (-1, 0)}
    return [at for at in sorted(moments) if java_offset(java, at) != assumed.local.at(at) - at]


def java_offset(java: zones.ZoneOffsets, at: int) -> int:
    """The offset at a moment, by looking through all transitions."""
    found = java.first_us
    for instant, offset in java.transitions:
        if instant > at:
            break
        found = offset
    return found


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe", "Asia/Tehran", "Africa/Cairo"])
def test_javas_printed_rules_are_those_it_goes_by(spark, zone):
    """What is read from Java's text against what Java answers, moment by moment."""
    java, _ = zones.java_offsets(spark, zone)
    of_java = jvm(spark).java.time
    answers = of_java.ZoneId.of(zone).getRules()
    for instant, _ in (*java.transitions[:5], *java.transitions[-70::9]):
        for second in (instant // 1_000_000 - 1, instant // 1_000_000):
            told = answers.getOffset(of_java.Instant.ofEpochSecond(second)).getTotalSeconds()
            assert told * 1_000_000 == java_offset(java, second * 1_000_000)


CHANGED = {
    "another first offset": lambda java: zones.ZoneOffsets(java.first_us + 1_000_000, java.transitions),
    "a transition less": lambda java: zones.ZoneOffsets(java.first_us, java.transitions[1:]),
    "the last transition less": lambda java: zones.ZoneOffsets(java.first_us, java.transitions[:-1]),
    "a transition a second later": lambda java: zones.ZoneOffsets(
        java.first_us,
        tuple((at + (n == 40) * 1_000_000, offset) for n, (at, offset) in enumerate(java.transitions)),
    ),
    "another yearly rule in 2090": lambda java: zones.ZoneOffsets(
        java.first_us,
        tuple((at + (at > 3_786_912_000_000_000) * 86_400_000_000, o) for at, o in java.transitions),
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_each_difference_is_seen(spark, no_memory, monkeypatch, change):
    """Without this the check could say yes to everything."""
    true = zones.java_offsets
    assert zones.trusted_zone(spark, "America/New_York")
    zones._trusted_names.clear()
    monkeypatch.setattr(
        zones,
        "java_offsets",
        lambda spark, zone: (CHANGED[change](true(spark, zone)[0]), true(spark, zone)[1]),
    )
    assert not zones.trusted_zone(spark, "America/New_York")


def test_a_zone_is_looked_at_once(spark, no_memory, monkeypatch):
    assert zones.trusted_zone(spark, "Europe/Paris")

    def refuse(*arguments):
        raise AssertionError(arguments)

    monkeypatch.setattr(zones, "java_offsets", refuse)
    assert zones.trusted_zone(spark, "Europe/Paris")


def test_in_a_zone_that_differs_nothing_is_known_of_local_times(
    spark, session_zone, no_memory, monkeypatch, tmp_path
):
    """Casts do not say which zone they go through, functions are opaque, and the report says why."""
    monkeypatch.setattr(zones, "_is_agreed", lambda *arguments: False)
    session_zone("Europe/Berlin")
    asked = "hour(at) = 3 OR CAST(at AS DATE) < CAST(s AS DATE)"
    found = list(walk(parse(asked, COLUMNS)))
    assert any(isinstance(node, Opaque) for node in found)
    assert not any(isinstance(node, Call) for node in found)
    assert {node.zone for node in found if isinstance(node, Cast)} == {""}
    frame = spark.createDataFrame([(datetime.datetime(2024, 1, 1), "2024-01-01")], "at timestamp, s string")
    frame.write.parquet(str(tmp_path / "t"))
    (scan,) = pruning.explain(spark.read.parquet(str(tmp_path / "t")).filter(asked)).scans
    assert any("Europe/Berlin" in note for note in scan.notes)


def test_in_a_zone_that_agrees_it_is_named(spark, session_zone):
    session_zone("PST")
    found = list(walk(parse("hour(at) = 3 OR CAST(at AS DATE) = CAST(s AS DATE)", COLUMNS)))
    (hour,) = (node for node in found if isinstance(node, Call))
    assert (hour.function, hour.zone) == (Function.HOUR, "America/Los_Angeles")
    assert {node.zone for node in found if isinstance(node, Cast)} == {"America/Los_Angeles", ""}
