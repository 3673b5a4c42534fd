"""Window functions, frames and named windows: DuckDB has the same values, and they are maintained."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from random import Random

import duckdb
import pytest
from as_duckdb import same_bag
from maintaining import deltas, evaluated, query
from random_versions import duckdb_of, random_versions

from dynamic_tables.bags import windows
from dynamic_tables.bags.windows import WINDOWS
from dynamic_tables.values.errors import Refused
from mutants.sql.windows import FUNCTIONS, SPANS
from pruning.errors import InputError

NOON = datetime(2025, 1, 1, 12)
CELLS = {
    "n": ((None, 1, 2), (None, -2, 0, 1, 1, 2, 3, 5, 8), ("a", "b")),
    "d": ((1, 2), (None, Decimal("0.50"), Decimal("1.00"), Decimal("1.25"), Decimal("3.00"))),
    "m": (
        (None, *[NOON + timedelta(hours=hours) for hours in (0, 1, 6, 24, 25)]),
        (None, *[date(2025, 1, day) for day in (1, 2, 3, 7)]),
        (True, False),
    ),
}
DIRECTIONS = ("", "DESC", "NULLS FIRST", "DESC NULLS LAST")
RANGES = (
    "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "BETWEEN CURRENT ROW AND CURRENT ROW",
    "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "BETWEEN 1 PRECEDING AND CURRENT ROW",
    "BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    "BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
    "BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING",
    "1 PRECEDING",
)
INTERVALS = (
    "BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW",
    "BETWEEN INTERVAL '6 hours' PRECEDING AND INTERVAL '1 day' FOLLOWING",
    "BETWEEN INTERVAL '1 day' FOLLOWING AND UNBOUNDED FOLLOWING",
)


def with_nulls(order: str) -> str:
    """An order in which DuckDB puts NULL where Snowflake does."""
    return order if "NULLS" in order else f"{order} NULLS {'FIRST' if order else 'LAST'}"


# Queries, and DuckDB's.
QUERIES: Mapping[str, str] = {
    **{
        query_text.format(order=order): query_text.format(order=with_nulls(order))
        for order in DIRECTIONS
        for query_text in (
            *[
                f"SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY n {{order}} RANGE {frame}), "
                f"count(*) OVER (PARTITION BY k ORDER BY n {{order}} RANGE {frame}) FROM n"
                for frame in RANGES
            ],
            *[
                f"SELECT {column}, count(*) OVER (PARTITION BY flag ORDER BY {column} {{order}} "
                f"RANGE {frame}) FROM m"
                for column in ("at", "day")
                for frame in INTERVALS
            ],
            "SELECT k, d, max(d) OVER (PARTITION BY k ORDER BY d {order} RANGE BETWEEN 0.5 PRECEDING AND "
            "0.25 FOLLOWING) FROM d",
            "SELECT k, n, percent_rank() OVER (PARTITION BY k ORDER BY n {order}), "
            "cume_dist() OVER (PARTITION BY k ORDER BY n {order}) FROM n",
            *[
                # Which of the rows that tie is in a group is left open; so rows are counted.
                f"SELECT k, n, t, count(*) FROM (SELECT k, n, ntile({count}) OVER (PARTITION BY k ORDER BY n "
                "{order}) AS t FROM n) GROUP BY k, n, t"
                for count in (1, 2, 3, 7)
            ],
        )
    },
    "SELECT k, sum(n) OVER w AS s, rank() OVER w AS r FROM n WINDOW w AS (PARTITION BY k ORDER BY n)": (
        "SELECT k, sum(n) OVER w AS s, rank() OVER w AS r FROM n "
        "WINDOW w AS (PARTITION BY k ORDER BY n NULLS LAST)"
    ),
    "SELECT k, sum(n) OVER (w ORDER BY n DESC) AS s, count(*) OVER v AS c FROM n AS a WHERE n > 0 "
    "WINDOW w AS (PARTITION BY k), v AS (w ORDER BY n RANGE 2 PRECEDING) QUALIFY count(*) OVER w > 1": (
        "SELECT k, sum(n) OVER (PARTITION BY k ORDER BY n DESC), count(*) OVER (PARTITION BY k ORDER BY n "
        "RANGE 2 PRECEDING) FROM n WHERE n > 0 QUALIFY count(*) OVER (PARTITION BY k) > 1"
    ),
    "SELECT k, sum(n), sum(sum(n)) OVER w FROM n GROUP BY k, unused WINDOW w AS (PARTITION BY k)": "",
}
SEEDS = 12


@cache
def connection_of(seed: int) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB with the first version of a seed."""
    return duckdb_of(random_versions(Random(seed), CELLS, count=1)[0])


def differs_from_duckdb(text: str, seed: int) -> bool:
    """Tell whether a query has other rows in DuckDB."""
    ours = evaluated(text, random_versions(Random(seed), CELLS, count=1)[0])
    # `at` is a keyword there.
    theirs = (QUERIES[text] or text).replace("at,", '"at",').replace("BY at ", 'BY "at" ')
    return not same_bag(ours, connection_of(seed).execute(theirs).fetchall())


@pytest.mark.parametrize("text", QUERIES)
def test_windows_are_those_of_duckdb(text: str) -> None:
    assert not [seed for seed in range(SEEDS) if differs_from_duckdb(text, seed)]


@pytest.mark.parametrize("text", QUERIES)
def test_windows_are_maintained(text: str) -> None:
    assert query(text).incremental
    for seed in range(SEEDS):
        deltas(text, *random_versions(Random(seed), CELLS))


@pytest.mark.parametrize(("name", "mistake"), FUNCTIONS)
def test_comparison_with_duckdb_kills_each_function(
    name: str, mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WINDOWS, name, FUNCTIONS[name, mistake])
    texts = [text for text in QUERIES if f"{name}(" in text]
    assert any(differs_from_duckdb(text, seed) for seed in range(SEEDS) for text in texts)


@pytest.mark.parametrize("mistake", SPANS)
def test_comparison_with_duckdb_kills_each_frame(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "compile_spans", SPANS[mistake])
    texts = [text for text in QUERIES if "RANGE" in text]
    assert any(differs_from_duckdb(text, seed) for seed in range(SEEDS) for text in texts)


def test_the_frame_of_a_named_window_is_that_of_first_value() -> None:
    text = (
        "SELECT n, first_value(n) OVER w AS f, first_value(n) OVER (PARTITION BY k ORDER BY n) AS g "
        "FROM n WINDOW w AS (PARTITION BY k ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    )
    rows = {str(number): (1, number, None) for number in (1, 2, 3)}
    assert evaluated(text, {"n": rows}) == [(1, 1, 1), (2, 1, 1), (3, 2, 1)]


def test_window_is_still_the_name_of_a_column_or_a_table() -> None:
    assert query("SELECT window.k AS window FROM l AS window").columns == ("window",)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("sum(k) OVER w FROM l", "there is no window w before it: write WINDOW w AS"),
        ("sum(k) OVER w FROM l WINDOW w AS (v), v AS (PARTITION BY k)", "there is no window v before it"),
        (
            "sum(k) OVER w FROM l WINDOW w AS (PARTITION BY k), w AS (PARTITION BY x)",
            "two windows are called w",
        ),
        ("sum(k) OVER (w PARTITION BY x) FROM l WINDOW w AS (PARTITION BY k)", "PARTITION BY is that of"),
        ("sum(k) OVER (w ORDER BY x) FROM l WINDOW w AS (ORDER BY k)", "ORDER BY is that of the window w"),
        (
            "sum(k) OVER (w ROWS 1 PRECEDING) FROM l WINDOW w AS (ORDER BY k ROWS 2 PRECEDING)",
            "the frame is that of the window w",
        ),
        (
            "sum(k) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED FOLLOWING AND 1 FOLLOWING) FROM l",
            "a frame cannot have the edge UNBOUNDED FOLLOWING there",
        ),
        (
            "sum(k) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING) FROM l",
            "a frame cannot have the edge UNBOUNDED PRECEDING there",
        ),
    ],
)
def test_windows_that_cannot_be_are_refused(text: str, wrong: str) -> None:
    """A frame that began at UNBOUNDED FOLLOWING was taken for one that begins at UNBOUNDED PRECEDING."""
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT {text}")


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("ntile(0) OVER (ORDER BY k)", r"NTILE\(0\) is not supported: write a positive whole number"),
        ("ntile(k) OVER (ORDER BY k)", r"NTILE\(k\)"),
        ("nth_value(k, 2) OVER (ORDER BY k)", "the window function NTH_VALUE"),
        ("ratio_to_report(k) OVER (ORDER BY k)", "the window function RATIO_TO_REPORT"),
        ("sum(k) OVER (ORDER BY k GROUPS 1 PRECEDING)", "the frame GROUPS .* write ROWS or RANGE"),
        ("sum(k) OVER (ORDER BY x RANGE 1 PRECEDING)", "the frame RANGE .* values of the type TEXT"),
        ("sum(k) OVER (ORDER BY k, x RANGE 1 PRECEDING)", "the frame RANGE .* exactly one term"),
        ("sum(k) OVER (ORDER BY k RANGE INTERVAL '1 day' PRECEDING)", "the frame RANGE .* type INTEGER"),
        ("sum(k) OVER (ORDER BY k ROWS k PRECEDING)", "a frame with the edge k"),
        ("sum(k) OVER (ORDER BY k::double RANGE 1 PRECEDING)", "the frame RANGE .* type FLOAT"),
        ("sum(k) OVER (ORDER BY x::date RANGE INTERVAL '1 month' PRECEDING)", "INTERVAL '1 MONTH'"),
    ],
)
def test_other_window_functions_and_frames_are_refused_by_name(text: str, construct: str) -> None:
    with pytest.raises(Refused, match=f"^{construct}"):
        query(f"SELECT {text} AS v FROM l")
