"""Definitions and sources that change: what is computed anew, and what goes on."""

from small_queries import FIELDS, Small, bag
from small_refreshes import commit, did, holds_what_it_should, refresh, refresh_fails, world_of
from small_world import World

from dynamic_tables.catalog import ddl
from dynamic_tables.refreshes.actions import Cause, RefreshAction
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.values.types import INTEGER, Field

C = Field("c", INTEGER)


def test_a_replaced_source_reinitializes_and_the_next_change_is_incremental():
    """R-DVS-42, R-DVS-98, trap 51. The result is the new table's, and later merges fit its row ids."""
    world = world_of("sum")
    world.ddl(ddl.CreateTable("s.b0", FIELDS, replace=True))
    world.write("s.b0", 3)
    assert did(refresh(world)) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert holds_what_it_should(world)
    world.write("s.b0", 3)
    assert did(refresh(world)) == (RefreshAction.INCREMENTAL, Cause.CHANGED)
    assert holds_what_it_should(world)


def test_unused_columns_may_come_and_go():
    """R-DVS-43. Adding or dropping one reinitializes nobody but who selects all columns."""
    world = world_of()
    world.dynamic("s.star", "star", "b0")
    world.dynamic("s.below", "copy", "star")
    world.finish_all()
    for statement in (ddl.AddColumn("s.b0", C), ddl.DropColumn("s.b0", "c")):
        world.ddl(statement)
        assert did(refresh(world)) == (RefreshAction.NO_DATA, Cause.UNCHANGED)
        assert did(refresh(world, "s.star")) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
        assert did(refresh(world, "s.below")) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
        world.write("s.b0", 2)
        assert refresh(world).action is RefreshAction.INCREMENTAL
        assert refresh(world, "s.below").action is RefreshAction.INCREMENTAL
        assert holds_what_it_should(world)
        assert holds_what_it_should(world, "s.star")
        assert holds_what_it_should(world, "s.below")


def test_a_column_dropped_and_added_again_is_another_column():
    """R-DVS-43, trap 41. Its old values are gone, though the definition reads as before."""
    world = world_of()
    world.ddl(ddl.DropColumn("s.b0", "b"))
    assert refresh_fails(world, "s.d") == (Fault.USER, "there is no column a or no column b")
    world.ddl(ddl.AddColumn("s.b0", Field("b", INTEGER)))
    assert did(refresh(world)) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert {row[1] for row in world.account.read("s.d").values()} == {None}


def test_another_view_body_reinitializes():
    """R-DVS-44. The bound definitions are compared, with views expanded."""
    world = World()
    world.ddl(ddl.CreateView("s.v", Small("copy", ("b0",))))
    world.dynamic("s.d", "copy", "v")
    world.finish_all()
    world.ddl(ddl.CreateView("s.v", Small("copy", ("b0",)), replace=True))
    assert refresh(world).action is RefreshAction.NO_DATA
    world.ddl(ddl.CreateView("s.v", Small("filter", ("b0",)), replace=True))
    assert did(refresh(world)) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert holds_what_it_should(world)


def test_a_dropped_source_fails_the_refresh_and_a_restored_one_goes_on():
    """R-DVS-41. By itself, and incrementally."""
    world = world_of()
    world.write("s.b0", 2)
    world.ddl(ddl.Drop("s.b0"))
    assert refresh_fails(world, "s.d") == (Fault.USER, "there is no s.b0")
    world.advance(1)
    world.ddl(ddl.Undrop("s.b0"))
    assert did(refresh(world)) == (RefreshAction.INCREMENTAL, Cause.CHANGED)
    assert holds_what_it_should(world)


def test_clones_of_a_graph_go_on_without_being_computed_anew():
    """R-DVS-46. They start suspended; resumed, they are incremental over the cloned sources."""
    world = world_of("sum")
    world.dynamic("s.e", "copy", "d")
    world.finish_all()
    world.ddl(ddl.CloneSchema("s", "t"))
    world.write("t.b0", 3)
    assert did(refresh(world, "t.e")) == (RefreshAction.INCREMENTAL, Cause.CHANGED)
    assert holds_what_it_should(world, "t.e")
    assert did(refresh(world, "s.e")) == (RefreshAction.NO_DATA, Cause.UNCHANGED)
    assert holds_what_it_should(world, "s.e")
    assert bag(world.account.read("t.e")) != bag(world.account.read("s.e"))


def test_a_swap_reinitializes_who_reads_either_name_and_nobody_else():
    """R-DVS-47. What is unaffected goes on."""
    world = world_of()
    world.dynamic("s.other", "copy", "b1")
    world.dynamic("s.beside", "copy", "d")
    world.finish_all()
    world.ddl(ddl.Rename("s.b0", "s.b2"))
    world.ddl(ddl.Rename("s.b2", "s.b0"))
    assert refresh(world).action is RefreshAction.NO_DATA
    world.ddl(ddl.Swap("s.b0", "s.b1"))
    assert did(refresh(world)) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert did(refresh(world, "s.other")) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert did(refresh(world, "s.beside")) == (RefreshAction.INCREMENTAL, Cause.CHANGED)
    for name in ("s.d", "s.other", "s.beside"):
        assert holds_what_it_should(world, name)


def test_ddl_after_the_data_timestamp_is_not_seen():
    """R-DVS-45. Names mean what they meant then, however late the refresh begins."""
    world = world_of()
    world.write("s.b0", 2)
    world.advance(1)
    data_us = world.now_us
    world.now_us += 1
    world.ddl(ddl.CreateTable("s.b0", FIELDS, replace=True))
    identity = world.account.catalog.state.get("s.d").identity
    plan = world.account.engine.begin(identity, data_us, now_us=world.now_us)
    assert plan.cause is Cause.CHANGED
    commit(world, world.account.engine.compute(plan))
    assert holds_what_it_should(world)
    assert refresh(world).cause is Cause.EVOLVED


def test_columns_that_move_in_a_table_above_are_followed():
    """R-DVS-43, trap 41. A table that selects all columns passes on how they changed, to whoever reads it."""
    world = world_of("star")
    world.dynamic("s.e", "copy", "d")
    world.finish_all()
    world.ddl(ddl.DropColumn("s.b0", "a"))
    world.ddl(ddl.AddColumn("s.b0", Field("a", INTEGER)))
    assert did(refresh(world, "s.e")) == (RefreshAction.REINITIALIZE, Cause.EVOLVED)
    assert holds_what_it_should(world, "s.e")
    assert {row[0] for row in world.account.read("s.e").values()} == {None}
