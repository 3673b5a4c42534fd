"""Refreshes of one table in a small world, asked for by hand."""

import pytest
from small_queries import bag, evaluated
from small_world import World

from dynamic_tables.refreshes.actions import RefreshFailed


def world_of(kind="copy", *reads, **options):
    """A world whose table s.d is initialized."""
    world = World()
    world.advance(1)
    world.dynamic("s.d", kind, *(reads or ("b0",)), **options)
    world.finish_all()
    return world


def refresh(world, name="s.d"):
    """Refresh a table and what it reads; what the log says of the table."""
    world.advance(1)  # who asks twice in one microsecond gets one refresh
    world.manual(name)
    world.finish_all()
    identity = world.account.catalog.state.get(name).identity
    return next(told for told in reversed(world.log) if told.table == identity)


def did(told):
    return told.action, told.cause


def holds_what_it_should(world, name="s.d"):
    table = world.table(name)
    entity = world.account.catalog.state.get(name)
    right = evaluated(world.account, entity, table.frontier.data_us)
    return bag(world.account.read(name)) == bag(right)


def refresh_fails(world, name):
    """Ask the engine for a refresh now; whose fault it is that it fails, and what is said."""
    world.advance(1)
    identity = world.account.catalog.state.get(name).identity
    engine = world.account.engine
    with pytest.raises(RefreshFailed) as raised:
        engine.compute(engine.begin(identity, world.now_us, now_us=world.now_us))
    return raised.value.fault, str(raised.value)


def commit(world, staged):
    return world.account.engine.commit(
        staged, clock=world.clocks[0], wall_us=world.now_us, now_us=world.now_us
    )
