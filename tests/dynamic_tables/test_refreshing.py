"""What a refresh does and why, and that it is done whole, once, at exactly its data timestamp."""

import pytest
from small_queries import bag
from small_refreshes import commit, did, holds_what_it_should, refresh, refresh_fails, world_of
from small_world import SECOND_US, World

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Mode, Privilege
from dynamic_tables.catalog.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.refreshes.actions import (
    AlreadyRefreshed,
    Cause,
    RefreshAction,
    RefreshFailed,
    ValidationFailed,
)
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.storage.staging import InvalidChanges
from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.values.changes import Action, Change
from dynamic_tables.values.types import INTEGER, Field
from pruning.errors import InputError

C = Field("c", INTEGER)


def test_without_a_change_only_the_data_timestamp_moves():
    """R-DVS-23, R-DVS-26. NO_DATA: no version, no row; also when a source was maintained (trap 29)."""
    world = world_of()
    table = world.table("s.d")
    before = table.latest, table.frontier.data_us
    assert did(refresh(world)) == (RefreshAction.NO_DATA, Cause.UNCHANGED)
    world.write("s.b0", 0)
    told = refresh(world)
    assert did(told) == (RefreshAction.NO_DATA, Cause.UNCHANGED)
    assert (told.inserted_count, told.deleted_count) == (0, 0)
    assert table.latest is before[0]
    assert table.frontier.data_us > before[1]
    assert table.refreshed_at(table.frontier.data_us) is table.latest


def test_no_data_is_decided_from_metadata_alone():
    """R-DVS-23. Neither the backend nor the contents of a source are asked."""
    world = world_of()
    world.advance(1)
    identity = world.account.catalog.state.get("s.d").identity
    world.table("s.b0").contents = None
    world.table("s.b0").changes = None
    engine = world.account.engine
    engine._backend = None
    staged = engine.compute(engine.begin(identity, world.now_us, now_us=world.now_us))
    assert commit(world, staged)
    assert world.log[-1].action is RefreshAction.NO_DATA


@pytest.mark.parametrize(
    ("mode", "action", "cause", "first"),
    [
        (Mode.INCREMENTAL, RefreshAction.INCREMENTAL, Cause.CHANGED, RefreshAction.REINITIALIZE),
        (Mode.FULL, RefreshAction.FULL, Cause.MODE, RefreshAction.FULL),
    ],
)
def test_a_change_is_merged_or_overwrites_by_the_mode(mode, action, cause, first):
    """R-DVS-24, R-DVS-25, R-DVS-26. With the rows inserted and deleted, and how long it took."""
    world = world_of(mode=mode)
    assert did(world.log[0]) == (first, Cause.FIRST)
    assert world.log[0].inserted_count == 2
    world.write("s.b0", 2)
    told = refresh(world)
    assert did(told) == (action, cause)
    assert (told.inserted_count, told.deleted_count) == (2, 1)
    assert told.ended_us >= told.began_us
    assert holds_what_it_should(world)


def test_an_interval_that_is_purged_reinitializes():
    """Trap 32. What changed cannot be told any more, so everything is computed."""
    world = world_of()
    for _ in range(3):
        world.advance(10)
        world.write("s.b0", 2)
    world.purge(0)
    assert did(refresh(world)) == (RefreshAction.REINITIALIZE, Cause.PURGED)
    assert holds_what_it_should(world)
    world.purge(0)
    assert did(refresh(world)) == (RefreshAction.NO_DATA, Cause.UNCHANGED)


def test_sources_are_read_at_exactly_the_data_timestamp():
    """R-DVS-81, R-DVS-06. Later writes are not seen, of base tables nor of tables in between."""
    world = world_of()
    world.dynamic("s.e", "copy", "d")
    world.finish_all()
    world.advance(1)
    world.manual("s.e")
    at_us = world.now_us + 1
    world.now_us += 2
    world.write("s.b0", 3)
    world.finish_all()
    assert world.table("s.e").frontier.data_us == at_us
    assert holds_what_it_should(world, "s.e")
    rows = world.account.read("s.e")
    refresh(world)
    assert world.account.read("s.e") == rows
    assert bag(rows) != bag(world.account.read("s.d"))


def test_an_upstream_table_without_the_timestamp_fails_the_refresh():
    """R-DVS-82. The first validation of production: an exact entry, or nothing."""
    world = world_of()
    world.dynamic("s.e", "copy", "d")
    world.finish_all()
    world.advance(1)
    engine = world.account.engine
    identity = world.account.catalog.state.get("s.e").identity
    with pytest.raises(ValidationFailed, match=r"s\.d cannot be read at 2000000 us") as raised:
        engine.begin(identity, world.now_us, now_us=world.now_us)
    assert (raised.value.validation, raised.value.fault) == (1, Fault.UPSTREAM)


class Says:
    """A backend that says what it is told to."""

    def __init__(self, *changes):
        self.changed = changes

    def changes(self, query, sources, held):
        return self.changed


ROW = (1, 1)
DELTAS = [
    (2, [Change(Action.INSERT, "x", ROW), Change(Action.INSERT, "x", ROW)], "one row id twice"),
    (2, [Change(Action.DELETE, "r1", ROW), Change(Action.DELETE, "r1", ROW)], "one row id twice"),
    (3, [Change(Action.DELETE, "x", ROW)], "deletes row x, which does not exist"),
    (4, [Change(Action.INSERT, "r2", ROW)], "inserts row r2, which exists"),
]


@pytest.mark.parametrize(("validation", "changes", "message"), DELTAS)
def test_a_delta_that_cannot_be_is_not_merged(validation, changes, message):
    """R-DVS-92. The other validations of production, and one of ours; nothing is written."""
    world = world_of()
    world.write("s.b0", 1)
    table = world.table("s.d")
    before = table.latest, table.frontier
    world.account.engine._backend = Says(*changes)
    fault, said = refresh_fails(world, "s.d")
    assert message in said
    assert fault is Fault.SYSTEM
    assert (table.latest, table.frontier) == before
    with pytest.raises(InvalidChanges) as raised:
        table.stage(tuple(changes))
    assert raised.value.validation == validation
    with pytest.raises(ValidationFailed) as raised_by_engine:
        world.account.engine.compute(begun(world))
    assert raised_by_engine.value.validation == validation


def begun(world, name="s.d"):
    """A refresh of a changed table that has begun, at now."""
    world.write("s.b0", 2)
    world.advance(1)
    identity = world.account.catalog.state.get(name).identity
    return world.account.engine.begin(identity, world.now_us, now_us=world.now_us)


def test_a_refresh_that_is_lost_leaves_nothing():
    """R-DVS-38, R-DVS-84, traps 31, 43. Nobody sees it before it is committed; then both are there."""
    world = world_of()
    engine, table = world.account.engine, world.table("s.d")
    before = table.latest, table.frontier, dict(world.account.read("s.d")), len(world.log)
    plan = begun(world)
    staged = engine.compute(plan)
    assert (table.latest, table.frontier, dict(world.account.read("s.d")), len(world.log)) == before
    assert commit(world, staged)
    assert table.frontier.data_us == plan.data_us
    assert table.frontier.versions == plan.versions
    assert holds_what_it_should(world)


def test_a_refresh_is_committed_once_however_often_it_is_delivered():
    """R-DVS-38. Two workers may compute it, and messages may come twice; the log has it once."""
    world = world_of()
    engine = world.account.engine
    plan = begun(world)
    first, second = engine.compute(plan), engine.compute(plan)
    logged = len(world.log)
    assert commit(world, first)
    assert not commit(world, second)
    assert not commit(world, first)
    assert len(world.log) == logged + 1
    with pytest.raises(AlreadyRefreshed):
        engine.begin(plan.table, plan.data_us, now_us=world.now_us)
    with pytest.raises(RefreshFailed, match="cannot go back"):
        engine.begin(plan.table, plan.data_us - 1, now_us=world.now_us)


def test_a_refresh_that_started_before_another_was_committed_is_refused():
    """R-DVS-38, R-DVS-86. Its changes are of contents that are gone."""
    world = world_of()
    engine = world.account.engine
    plan = begun(world)
    late = engine.compute(plan._replace(data_us=plan.data_us + 5))
    commit(world, engine.compute(plan))
    with pytest.raises(RefreshFailed, match="another refresh was committed"):
        commit(world, late)
    assert holds_what_it_should(world)


def test_an_attempt_that_was_overtaken_is_not_validated_against_what_the_faster_one_left():
    """R-DVS-38, R-DVS-92. A row that the faster one deleted is not told to be missing."""
    world = world_of()
    engine = world.account.engine
    plan = begun(world)
    commit(world, engine.compute(plan))
    with pytest.raises(AlreadyRefreshed):
        engine.compute(plan)
    with pytest.raises(RefreshFailed, match="another refresh was committed"):
        engine.compute(plan._replace(data_us=plan.data_us + 5))


def test_an_error_of_the_data_is_the_users_and_the_table_goes_on_from_its_old_frontier():
    """R-DVS-33, R-DVS-35. Once the data is mended it is refreshed incrementally, not anew."""
    world = world_of("divide")
    frontier = world.table("s.d").frontier
    world.write("s.b0", 1, zero=True)
    assert refresh_fails(world, "s.d")[0] is Fault.USER
    assert world.table("s.d").frontier is frontier
    world.fix_zeros("s.b0")
    assert refresh(world).action is RefreshAction.INCREMENTAL
    assert holds_what_it_should(world)


def test_a_table_cannot_be_read_before_its_first_refresh():
    """R-DVS-03, R-DVS-04. Afterwards it can, also while it is refreshed."""
    world = World()
    world.dynamic("s.d", "copy", "b0")
    with pytest.raises(InputError, match=r"s\.d is not initialized"):
        world.account.read("s.d")
    world.finish_all()
    rows = dict(world.account.read("s.d"))
    world.account.engine.compute(begun(world))
    assert world.account.read("s.d") == rows


def test_roles_need_privileges():
    """R-DVS-48. SELECT to read, OPERATE to ask for a refresh."""
    world = world_of()
    account = world.account
    now = {"clock": world.clocks[0], "wall_us": world.now_us}
    with pytest.raises(InputError, match="role r needs SELECT"):
        account.read("s.d", role="r")
    with pytest.raises(InputError, match="role r needs OPERATE"):
        account.request_refresh("s.d", role="r", **now)
    world.ddl(ddl.Grant(Privilege.SELECT, "s.d", "r"))
    world.ddl(ddl.Grant(Privilege.OPERATE, "s.d", "r"))
    assert account.read("s.d", role="r")
    assert account.request_refresh("s.d", role="r", **now).table == account.catalog.state.get("s.d").identity
    with pytest.raises(InputError, match=r"s\.b0 is a table"):
        account.request_refresh("s.b0", **now)
    with pytest.raises(InputError, match=r"s\.d is a dynamic table and cannot be written"):
        account.write({"s.d": ()}, **now)


def test_a_skipped_timestamp_has_no_version_and_loses_nothing():
    """R-DVS-31. The interval of the next refresh covers it."""
    world = world_of(lag=MINUTE_US)
    table = world.table("s.d")
    world.advance(48)
    for _ in range(3):
        world.write("s.b0", 2)
        world.advance(48)
    world.finish_all()
    world.advance(48)
    world.finish_all()
    assert 2 * 48 * SECOND_US not in table.refresh_timestamps()
    with pytest.raises(NoVersion):
        table.refreshed_at(2 * 48 * SECOND_US)
    assert holds_what_it_should(world)


def test_throughput_rises_with_the_backlog():
    """R-DVS-32. A table whose refreshes take k periods does one in k, and keeps up with all changes."""
    done = {}
    for slow in (1, 3, 6):
        world = world_of(lag=MINUTE_US)
        logged = len(world.log)
        for _ in range(12 // slow):
            world.write("s.b0", 2)
            world.advance(48 * slow)
            world.finish_all()
        done[slow] = len(world.log) - logged
        assert holds_what_it_should(world)
    assert done[1] > done[3] > done[6] > 0


@pytest.mark.parametrize("node", range(3), ids=["right", "ahead", "behind"])
def test_users_see_what_they_wrote_before_they_asked(node):
    """R-DVS-07. Whatever the clock of their node shows; what is written afterwards comes after it."""
    world = world_of()
    world.write("s.b0", 2, node)
    written = world.table("s.b0").latest
    world.manual("s.d", node)
    world.write("s.b0", 2, 2)
    world.finish_all()
    data_us = world.table("s.d").frontier.data_us
    assert written.commit_time.physical_us <= data_us
    world.manual("s.d", 2)
    world.finish_all()
    assert world.table("s.b0").latest.commit_time.physical_us <= world.table("s.d").frontier.data_us
    assert holds_what_it_should(world)


def test_a_chain_of_tables_that_nobody_times_is_refreshed_by_hand():
    """R-DVS-15. A user's task refreshes it; in between nothing is done for it."""
    world = world_of(lag=DOWNSTREAM)
    world.dynamic("s.e", "join", "d", "b1", lag=DOWNSTREAM)
    world.finish_all()
    logged = len(world.log)
    for name in ("s.b0", "s.b1"):
        world.advance(3600)
        world.write(name, 2)
    assert len(world.log) == logged
    refresh(world, "s.e")
    assert len(world.log) == logged + 2
    assert holds_what_it_should(world, "s.e")
