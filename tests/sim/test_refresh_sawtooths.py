"""Lags of dynamic tables over time, compared with the trace."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refresh_plays import BASE, ONE, S, committed_event, identities, play, table, with_trace

from sim.refreshes.events import (
    Committed,
)
from sim.refreshes.sawtooths import LateSpell, Sawtooth, sawtooths, thin, worst_refreshes
from sim.refreshes.worlds import small_world


def test_two_refreshes_are_two_teeth() -> None:
    """Committed at 10 s as of 4 s, and at 100 s as of 52 s; the run ends at 200 s, and the target is 60 s."""
    d = identities(ONE)["d"]
    done = with_trace(ONE, committed_event(d, 10, 4), committed_event(d, 100, 52, peak_s=96))
    (lags,) = sawtooths(done)
    assert lags.name == "d"
    assert lags.points == ((10 * S, 6 * S), (100 * S, 96 * S), (100 * S, 48 * S), (200 * S, 148 * S))
    assert lags.targets == ((1_000, 60 * S),)
    assert lags.peak_us == 148 * S
    assert list(lags.spells) == [
        LateSpell(from_us=64 * S, until_us=100 * S, data_us=4 * S, target_us=60 * S),
        LateSpell(from_us=112 * S, until_us=200 * S, data_us=52 * S, target_us=60 * S),
    ]
    assert lags.late_us == (36 + 88) * S
    assert lags.share_of_target == 148 / 60


def test_the_teeth_of_drawn_accounts_have_the_lags_that_commits_tell() -> None:
    """Peaks and troughs are told by commits too, which no tooth is made of."""
    compared = 0
    for seed in range(12):
        done = small_world(seed).run(seed)
        by_table = {sawtooth.table: set(sawtooth.points) for sawtooth in sawtooths(done)}
        for event in done.trace:
            if isinstance(event, Committed):
                assert (event.at_us, event.trough_us) in by_table[event.table]
                if event.peak_us:
                    assert (event.at_us, event.peak_us) in by_table[event.table]
                    compared += 1
    assert compared > 100


def test_a_clone_begins_as_far_behind_as_its_original() -> None:
    done = play(
        BASE,
        table("d", "'1 minute'", "SELECT k, v FROM t"),
        (100, "CREATE SCHEMA z CLONE s"),
        (120, "ALTER DYNAMIC TABLE z.d RESUME"),
    )
    clone = identities(done)["z.d"]
    lags = next(sawtooth for sawtooth in sawtooths(done) if sawtooth.table == clone)
    assert lags.refreshed[0] == (100 * S, 96 * S)
    assert lags.points[0] == (100 * S, 4 * S)
    assert lags.targets == ((100 * S, None), (120 * S, 60 * S))
    behind = replace(lags, refreshed=((100 * S, 40 * S),), until_us=200 * S)
    # It is 60 s behind at once, and 80 s when a target is set.
    assert list(behind.spells) == [LateSpell(120 * S, 200 * S, 40 * S, 60 * S)]


def test_the_lag_of_a_table_ends_where_it_is_dropped() -> None:
    done = play(BASE, table("d", "'1 minute'", "SELECT k, v FROM t"), (130, "DROP DYNAMIC TABLE s.d"))
    (lags,) = sawtooths(done)
    assert lags.points[-1][0] == 130 * S
    assert sawtooths(ONE)[0].points[-1][0] == 200 * S


def test_targets_are_those_in_force() -> None:
    """DOWNSTREAM is the least of the tables below; a suspended table asks for nothing until it is resumed."""
    done = play(
        BASE,
        table("d", "DOWNSTREAM", "SELECT k, v FROM t"),
        table("e", "'2 minutes'", "SELECT k FROM d"),
        (50, table("f", "'1 minute'", "SELECT v FROM d")),
        (90, "ALTER DYNAMIC TABLE s.f SUSPEND"),
    )
    targets = {sawtooth.name: sawtooth.targets for sawtooth in sawtooths(done)}
    quiet = (150 * S + 1, 60 * S)
    assert targets["d"] == ((1_000, None), (2_000, 120 * S), (50 * S, 60 * S), (90 * S, 120 * S), quiet)
    assert targets["f"] == ((50 * S, 60 * S), (90 * S, None), quiet)
    near = {sawtooth.name: sawtooth.targets for sawtooth in sawtooths(done, closer_us=S)}
    assert near["d"] == ((2_000, 120 * S), (50 * S, 60 * S), (90 * S, 120 * S), quiet)


def test_tables_that_were_late_for_longest_come_first_then_those_nearest_to_it() -> None:
    done = play(BASE, *(table(name, "'1 minute'", "SELECT k FROM t") for name in "abc"))
    ids = identities(done)
    done = with_trace(
        done,
        *(committed_event(ids["a"], at, at - 1) for at in (10, 60, 110, 160)),
        committed_event(ids["b"], 10, 9),
        *(committed_event(ids["c"], at, at - 1) for at in (10, 69, 128, 187)),
    )
    assert [(sawtooth.name, sawtooth.late_us) for sawtooth in sawtooths(done)] == [
        ("b", 131 * S),
        ("c", 0),
        ("a", 0),
    ]


def test_a_thinned_line_keeps_its_ends_and_what_is_most_and_least() -> None:
    line = [(0, 5), (1, 9), (2, 7), (3, 8), (4, 1), (5, 2), (10, 6), (11, 3)]
    assert thin(line, closer_us=10) == [(0, 5), (1, 9), (4, 1), (5, 2), (10, 6), (11, 3)]
    assert thin(line, closer_us=0) == line


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 90))), st.integers(1, 60))
def test_no_stretch_of_a_thinned_line_has_more_than_four_points(
    drawn: list[tuple[int, int]], closer_us: int
) -> None:
    line = sorted(drawn)
    found = thin(line, closer_us=closer_us)
    for stretch in {at // closer_us for at, _ in line}:
        all_of = [lag for at, lag in line if at // closer_us == stretch]
        kept = [lag for at, lag in found if at // closer_us == stretch]
        assert len(kept) <= 4
        assert (min(all_of), max(all_of)) == (min(kept), max(kept))
        assert (all_of[0], all_of[-1]) == (kept[0], kept[-1])


@pytest.mark.parametrize(
    ("worst", "places"),
    [(0, [0, 1, 2]), (1, [0, 1, 2]), (3, [2, 3, 4]), (5, [3, 4, 5])],
    ids=["first", "second", "middle", "last"],
)
def test_teeth_from_close_by_have_the_greatest_in_their_middle(worst: int, places: list[int]) -> None:
    at = 0
    refreshed = []
    for place in range(6):
        refreshed.append((at, at))
        at += 50 if place == worst else 10
    one = Sawtooth(table="t1", name="d", refreshed=tuple(refreshed), until_us=at, targets=())
    assert list(worst_refreshes(one, teeth=3)) == places
    assert list(worst_refreshes(one, teeth=9)) == [0, 1, 2, 3, 4, 5]
