"""Parts and units of dates and times are those of DuckDB, by every name that Snowflake has for them."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta

import duckdb
import pytest
from maintaining import evaluated, query

from dynamic_tables.sql.times import PARTS as PART_NAMES
from dynamic_tables.sql.times import UNITS
from dynamic_tables.values.time_parts import PARTS
from mutants.sql.functions import PARTS as MUTANTS
from pruning.errors import InputError

# DuckDB's expression of each part.
THEIRS: Mapping[str, str] = {
    **{part: f"{part}(moment)" for part in ("year", "quarter", "month", "week", "day", "hour", "minute")},
    **{part: f"{part}(moment)" for part in ("second", "dayofweek", "dayofyear")},
    "yearofweek": "isoyear(moment)",
    "dayofweekiso": "isodow(moment)",
    "nanosecond": "(microsecond(moment) % 1000000) * 1000",
    "epoch_second": "floor(epoch_us(moment) / 1000000)::BIGINT",
    "epoch_millisecond": "floor(epoch_us(moment) / 1000)::BIGINT",
    "epoch_microsecond": "epoch_us(moment)",
    "epoch_nanosecond": "epoch_us(moment)::HUGEINT * 1000",
}
# The days around each new year, when weeks and years differ, and times with every part.
TIMES = [
    *[datetime(year, 12, 27) + timedelta(days=day) for year in range(2015, 2028) for day in range(11)],
    *[datetime(2024, month, 29, month, 2 * month, 59 - month, 7 * month) for month in range(1, 13)],
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(9999, 12, 31, 23, 59, 59),
]


def theirs(text: str) -> list[object]:
    """DuckDB's values of an expression over the times."""
    rows = ", ".join(f"(TIMESTAMP '{at.isoformat(sep=' ')}')" for at in TIMES)
    return [value for (value,) in duckdb.sql(f"SELECT {text} FROM (VALUES {rows}) AS t(moment)").fetchall()]


def ours(text: str) -> list[object]:
    """The values of an expression over the times, in their order."""
    rows = {str(place): (at, None, None) for place, at in enumerate(TIMES)}
    values = dict(evaluated(f"SELECT at, {text} AS v FROM m", {"m": rows}))
    return [values[at] for at in TIMES]


def test_each_part_has_a_second_opinion() -> None:
    assert set(THEIRS) == set(PARTS) == set(PART_NAMES)


@pytest.mark.parametrize("part", THEIRS)
def test_parts_are_those_of_duckdb(part: str) -> None:
    """Weeks are those of ISO 8601 in both."""
    assert ours(f"extract({part} FROM at)") == theirs(THEIRS[part])


@pytest.mark.parametrize(("part", "mistake"), MUTANTS)
def test_comparison_with_duckdb_kills_each_mutant(part: str, mistake: str) -> None:
    assert [MUTANTS[part, mistake](at) for at in TIMES] != theirs(THEIRS[part])


@pytest.mark.parametrize("part", PART_NAMES)
def test_every_name_of_a_part_means_it(part: str) -> None:
    whole = query(f"SELECT date_part('{part}', at) AS v FROM m").fingerprint
    for name in PART_NAMES[part]:
        assert query(f"SELECT date_part('{name}', at) AS v FROM m").fingerprint == whole
        assert query(f"SELECT extract({name} FROM at) AS v FROM m").fingerprint == whole


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("year", "year"),
        ("quarter", "quarter"),
        ("month", "month"),
        ("week", "week"),
        ("weekofyear", "week"),
        ("weekiso", "week"),
        ("day", "day"),
        ("dayofmonth", "day"),
        ("dayofweek", "dayofweek"),
        ("dayofweekiso", "dayofweekiso"),
        ("dayofyear", "dayofyear"),
        ("yearofweek", "yearofweek"),
        ("yearofweekiso", "yearofweek"),
        ("hour", "hour"),
        ("minute", "minute"),
        ("second", "second"),
    ],
)
def test_a_function_of_a_part_is_that_part(function: str, part: str) -> None:
    texts = (f"SELECT {function}(at) AS v FROM m", f"SELECT extract({part} FROM at) AS v FROM m")
    assert len({query(text).fingerprint for text in texts}) == 1


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour", "minute", "second"])
def test_times_are_cut_as_duckdb_cuts_them(unit: str) -> None:
    """A week begins on a Monday in both."""
    first = TIMES.index(datetime(1, 1, 1))
    cut, wanted = ours(f"date_trunc('{unit}', at)"), theirs(f"date_trunc('{unit}', moment)::TIMESTAMP")
    assert cut[:first] == wanted[:first]
    assert cut[first + 1 :] == wanted[first + 1 :]


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit not in ("millisecond", "microsecond")])
def test_every_name_of_a_unit_means_it(unit: str) -> None:
    for text in ("date_trunc('{}', at)", "datediff({}, at, day)", "dateadd({}, 1, at)"):
        whole = query(f"SELECT {text.format(unit)} AS v FROM m").fingerprint
        for name in UNITS[unit]:
            assert query(f"SELECT {text.format(name)} AS v FROM m").fingerprint == whole, name


def test_parts_of_dates_and_texts_are_those_of_their_times() -> None:
    rows = {"1": (None, date(2025, 5, 6), None)}
    text = "SELECT quarter(day), hour(day), quarter('2025-08-01'), date_trunc('quarter', day) FROM m"
    assert evaluated(text, {"m": rows}) == [(2, 0, 3, date(2025, 4, 1))]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("extract(century FROM at)", "CENTURY is no part of a time: write one of year, quarter"),
        ("date_part('decade', at)", "decade is no part of a time"),
        ("date_trunc('fortnight', at)", "FORTNIGHT is no unit: write one of year, quarter"),
        ("dateadd(decade, 1, at)", "DECADE is no unit"),
        ("date_trunc(week(sunday), at)", r"the unit WEEK\(SUNDAY\) is not supported"),
        ("year(5)", "YEAR takes a date or a time, not INTEGER"),
        ("extract(hour FROM at - at)", "HOUR takes a date or a time, not INTERVAL"),
    ],
)
def test_parts_and_units_that_are_none_are_refused(text: str, wrong: str) -> None:
    """A wrong unit failed over the rows only; a part of a number was that of so many seconds."""
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT {text} AS v FROM m")
