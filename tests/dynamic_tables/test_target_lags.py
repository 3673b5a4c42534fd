"""Target lags, periods and the sawtooth of lag, by worked examples and over random graphs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.catalog.lags import (
    DOWNSTREAM,
    PERIODS_US,
    below_upstream,
    check_target_lag,
    initial_timestamp,
    lags_in_force,
    own_period,
    periods,
)
from pruning.errors import InputError

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
LAGS = st.one_of(st.just(DOWNSTREAM), st.integers(MINUTE_US, 48 * 3600 * SECOND_US))


@st.composite
def graphs(draw):
    """Tables 0, 1, ... that read earlier ones: the lag of each, and what each reads. Shrinks to fewer."""
    lags = draw(st.lists(LAGS, min_size=1, max_size=8))
    reads = [draw(st.sets(st.integers(0, table - 1))) if table else set() for table in range(len(lags))]
    return dict(enumerate(lags)), {table: sorted(read) for table, read in enumerate(reads)}


def consumers_of(upstream):
    return {table: [t for t, read in upstream.items() if table in read] for table in upstream}


#        lag s, w + d s, period s
PERIODS = [
    (60, 0, 48),
    (60, 11, 48),
    (60, 12, 48),  # 48 + 12 is not below 60, and there is no shorter one
    (300, 0, 192),
    (300, 107, 192),
    (300, 108, 96),
    (16 * 3600, 0, 49_152),
    (48 * 3600, 0, 98_304),
    (97, 0, 96),
    (96, 0, 48),
]


@pytest.mark.parametrize(("lag", "cost", "period"), PERIODS)
def test_the_period_is_the_longest_canonical_one_that_meets_the_lag(lag, cost, period):
    """R-DVS-75. The longest p of 48 * 2^n seconds with p + w + d < t; the shortest if none is."""
    assert PERIODS_US[own_period(lag * SECOND_US, cost * SECOND_US)] == period * SECOND_US


def test_canonical_periods_are_as_published():
    """R-DVS-73. 48 seconds, doubled eleven times."""
    seconds = [48, 96, 192, 384, 768, 1536, 3072, 6144, 12288, 24576, 49152, 98304]
    assert [period // SECOND_US for period in PERIODS_US] == seconds


@given(st.integers(MINUTE_US, 10**12), st.integers(0, 10**11))
def test_the_period_meets_the_lag_if_any_does_and_no_longer_one_would(lag_us, cost_us):
    """R-DVS-71, R-DVS-75. Lag peaks at p + w + d, which is below the target of all that can meet it."""
    period_us = PERIODS_US[own_period(lag_us, cost_us)]
    assert period_us + cost_us < lag_us or period_us == min(PERIODS_US)
    assert all(p + cost_us >= lag_us for p in PERIODS_US if p > period_us)


@given(graphs())
def test_every_downstream_tick_is_an_upstream_tick(graph):
    """R-DVS-74, R-DVS-08. For any graph and lags: when a table is due, all that it reads are due."""
    lags, upstream = graph
    in_force = lags_in_force(lags, consumers_of(upstream), list(lags))
    own = {table: None if lag is None else own_period(lag, 0) for table, lag in in_force.items()}
    chosen = periods(own, upstream)
    for table, read in upstream.items():
        if chosen[table] is None:
            continue
        tick = 5 * PERIODS_US[chosen[table]]
        for source in read:
            assert chosen[source] is not None
            assert chosen[source] <= chosen[table]
            assert tick % PERIODS_US[chosen[source]] == 0


@given(graphs())
def test_downstream_means_the_least_lag_below(graph):
    """R-DVS-13. A DOWNSTREAM table has the least lag of its timed consumers, however far; without, none."""
    lags, upstream = graph
    consumers = consumers_of(upstream)

    def below(table):
        return {table}.union(*(below(consumer) for consumer in consumers[table]))

    for table, lag in lags_in_force(lags, consumers, list(lags)).items():
        timed = [lags[other] for other in below(table) if lags[other] is not DOWNSTREAM]
        expected = min(timed, default=None) if lags[table] is DOWNSTREAM else lags[table]
        assert lag == expected


def test_a_lag_below_that_of_a_table_read_is_told():
    """R-DVS-14. The lag cannot be met: the table is told with the slowest table that it reads."""
    upstream = {"a": [], "b": [], "c": ["a", "b"], "d": ["a"]}
    assert below_upstream({"a": 60, "b": 90, "c": 80, "d": 60}, upstream) == {"c": "b"}
    assert below_upstream({"a": None, "b": 90, "c": None, "d": 60}, upstream) == {}


def test_a_target_lag_below_a_minute_is_refused():
    """R-DVS-12. The minimum is one minute; DOWNSTREAM has none."""
    check_target_lag(DOWNSTREAM)
    check_target_lag(MINUTE_US)
    with pytest.raises(InputError, match="of 59 seconds is below the minimum"):
        check_target_lag(59 * SECOND_US)


#    timestamps of tables read, created, lag, others since, taken
INITIAL = [
    ([], 100, 60, 0, None),  # only base tables
    ([[40, 80]], 100, 60, 0, 80),
    ([[40, 80], [40]], 100, 60, 0, 40),  # one that all have
    ([[40, 80], [40]], 100, 59, 0, None),  # it is too old
    ([[40], [80]], 100, 60, 0, None),  # there is none
    ([[80]], 100, 60, 81, None),  # another source was created since
    ([[5]], 100, None, 0, 5),  # no lag is in force
]


@pytest.mark.parametrize(("upstream", "created", "lag", "since", "taken"), INITIAL)
def test_a_table_starts_from_the_newest_timestamp_that_all_have(upstream, created, lag, since, taken):
    """R-DVS-09. Within the target lag, readable in every source; else the time of creation."""
    given_us = initial_timestamp(upstream, created_us=created, lag_us=lag, since_us=since)
    assert given_us == taken
