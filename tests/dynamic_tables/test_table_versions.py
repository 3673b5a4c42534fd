"""Tables as versions: what they hold when, what changed between, what refreshes left, what is purged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.maintenance.algebra import Scan
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Dependencies, Frontier
from dynamic_tables.storage.netting import MissingRow, RepeatedRow, apply, difference, inverse, net, same_row
from dynamic_tables.storage.versions import NoVersion, Purged, Table
from dynamic_tables.values.changes import Action, Change

NOTHING = Dependencies(Query(Scan("t1", ())), frozenset(), {})
CONTENTS = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.sampled_from([None, 0, 1, 1.0, True, ""])))


def at(us):
    return Timestamp(us, 0, 0)


def deleted(row_id, *row):
    return Change(Action.DELETE, row_id, row)


def inserted(row_id, *row):
    return Change(Action.INSERT, row_id, row)


def table_of(history):
    """A table with one version each 10 us: version n holds `history[n - 1]`."""
    table = Table(at(0))
    before = {}
    for number, after in enumerate(history, start=1):
        table.commit(at(10 * number), difference(before, after))
        before = after
    return table


def same_contents(left, right):
    return left.keys() == right.keys() and all(same_row(left[row_id], right[row_id]) for row_id in left)


@given(st.lists(CONTENTS, min_size=1), st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=8))
def test_any_version_and_any_interval_agree_with_the_contents_written(history, asked):
    """R-DVS-81. For any two versions: contents are those written, and changes lead from one to the other."""
    table = table_of(history)
    written = [{}, *history]
    for one, other in asked:
        old, new = sorted((one % len(written), other % len(written)))
        version = table.as_of(10 * new + 9)
        assert version.number == new
        assert same_contents(table.contents(version.number), written[new])
        changes = table.changes(old, new)
        assert len(changes) == len(difference(written[old], written[new]))
        rows = dict(written[old])
        apply(rows, changes)
        assert same_contents(rows, written[new])
        apply(rows, inverse(changes))
        assert same_contents(rows, written[old])


def test_a_read_sees_the_commit_of_its_own_microsecond():
    """R-DVS-81, trap 33. The end of the interval is inclusive; before its creation a table has no version."""
    table = Table(at(5))
    table.commit(at(10), (inserted("a", 1),))
    table.commit(Timestamp(10, 1, 0), (inserted("b", 2),))
    assert [table.as_of(us).number for us in (5, 9, 10, 11)] == [0, 0, 2, 2]
    with pytest.raises(NoVersion, match="created after 4 us"):
        table.as_of(4)


#       what was committed                                                        what is left
NETTED = [
    ([(inserted("a", 1),), (deleted("a", 1),)], ()),  # traps 16, 49: came and went
    ([(deleted("a", 1),), (inserted("a", 1),)], ()),  # trap 15: went and came back
    ([(deleted("a", 1), inserted("a", 2)), (deleted("a", 2), inserted("a", 1))], ()),  # there and back
    ([(deleted("a", 1), inserted("a", 1))], ()),  # trap 50: nothing was updated
    ([(inserted("a", 1),), (deleted("a", 1), inserted("a", 2))], (inserted("a", 2),)),  # trap 16
    ([(deleted("a", 1),), (inserted("a", 2),)], (deleted("a", 1), inserted("a", 2))),
    ([(deleted("a", 1), inserted("a", True))], (deleted("a", 1), inserted("a", True))),  # equal, not the same
]


@pytest.mark.parametrize(("committed", "left"), NETTED)
def test_changes_are_netted_by_id_and_content(committed, left):
    """R-DVS-85, traps 15, 16, 49 and 50. What an interval undoes itself is in no change."""
    assert net(committed) == left


def test_maintenance_is_no_change():
    """R-DVS-97, trap 29. Compaction adds a version that is read alike and counts no changed row."""
    table = Table(at(0))
    table.commit(at(1), (inserted("a", 1),))
    table.commit(at(2), ())
    assert table.latest.number == 2
    assert table.contents(2) == {"a": (1,)}
    assert table.changed_count(1, 2) == 0
    assert table.changes(1, 2) == ()
    assert table.changed_count(0, 2) == 1


def test_a_commit_never_appears_behind_a_reader():
    """R-DVS-83. Once a data timestamp was read, no commit may be given it or one before."""
    table = Table(at(0))
    table.read_at(10)
    with pytest.raises(AssertionError, match="a reader has seen"):
        table.commit(at(10), (inserted("a", 1),))
    table.commit(at(11), (inserted("a", 1),))
    with pytest.raises(AssertionError, match="go forward"):
        table.commit(at(11), ())


def refreshed(table, data_us, changes=()):
    table.commit_refresh(Frontier(data_us, at(data_us + 5), {}, NOTHING), table.stage(changes))


def test_refresh_timestamps_are_exact():
    """R-DVS-82, R-DVS-31. A data timestamp leads to the version of its refresh; a skipped one to none."""
    table = Table(at(0))
    refreshed(table, 10, (inserted("a", 1),))
    refreshed(table, 20)
    refreshed(table, 40, (deleted("a", 1),))
    assert [table.refreshed_at(us).number for us in (10, 20, 40)] == [1, 1, 2]
    assert table.refreshed_at(20).commit_time == at(15)
    assert table.refresh_timestamps() == (10, 20, 40)
    for data_us in (0, 15, 30, 50):
        with pytest.raises(NoVersion, match="no refresh had"):
            table.refreshed_at(data_us)
    with pytest.raises(AssertionError, match="data timestamps go forward"):
        refreshed(table, 40)


@given(st.lists(CONTENTS, min_size=1), st.integers(0, 200), st.integers(0))
def test_purged_versions_are_gone_and_the_others_stay(history, horizon_us, asked):
    """Trap 32. What was overwritten before the horizon is purged; from the horizon on all can be read."""
    table = table_of(history)
    written = [{}, *history]
    table.contents(asked % len(written))
    kept_from = max(n for n in range(len(written)) if n == 0 or 10 * n <= horizon_us)
    table.purge(horizon_us)
    assert table.oldest.number == kept_from
    assert table.readable_from_us == 10 * kept_from
    for number, contents in enumerate(written):
        if number < kept_from:
            with pytest.raises(Purged):
                table.contents(number) if number % 2 else table.changes(number, len(history))
            with pytest.raises(Purged):
                table.as_of(10 * number)
        else:
            assert same_contents(table.contents(number), contents)


def test_purging_forgets_the_data_timestamps_of_purged_versions():
    """R-DVS-82, trap 32. A data timestamp whose version is purged is none any more."""
    table = Table(at(0))
    for data_us in (10, 20, 30):
        refreshed(table, data_us, (inserted(f"at {data_us}", 1),))
    table.purge(26)
    assert table.refresh_timestamps() == (20, 30)
    with pytest.raises(NoVersion):
        table.refreshed_at(10)
    assert table.refreshed_at(20).number == 2


def test_a_clone_shares_the_past_and_not_the_future():
    """R-DVS-46. A clone has the versions and the frontier of its original, and then its own."""
    table = Table(at(0))
    refreshed(table, 10, (inserted("a", 1),))
    clone = table.clone()
    refreshed(table, 20, (deleted("a", 1),))
    refreshed(clone, 30, (inserted("b", 2),))
    assert clone.refreshed_at(10).number == 1
    assert clone.contents(clone.latest.number) == {"a": (1,), "b": (2,)}
    assert table.contents(table.latest.number) == {}
    assert table.refresh_timestamps() == (10, 20)


def test_a_delta_of_other_contents_is_refused():
    """R-DVS-92. No row is deleted that does not exist, and none inserted that does."""
    with pytest.raises(MissingRow, match="row a is deleted"):
        apply({}, (deleted("a", 1),))
    with pytest.raises(RepeatedRow, match="row a is inserted"):
        apply({"a": (1,)}, (inserted("a", 2),))
