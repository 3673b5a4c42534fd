"""Whatever happens, contents equal the query at the data timestamp."""

from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World
from world_actions import run


@given(st.randoms(use_true_random=False), st.integers(0, 150))
@settings(max_examples=100)
def test_delayed_view_semantics_hold_whatever_happens(random, count):
    """R-DVS-02, 04, 08, 30, 37, 38, 72 to 74, trap 34. Under DDL, writes, skew, crashes, repeats, purges."""
    run(World(), random, count)


def test_a_worker_whose_heartbeats_are_lost_is_silent_until_it_ends():
    """R-DVS-37. Two of them: when one ends, the other is still told silent, as it should be."""
    world = World()
    for name in ("s.v", "s.w"):
        world.dynamic(name, "copy", "s.b0")
    for place in range(len(world.works)):
        world.silence(place)
    world.advance(90)
    assert len(world.works) == 2
    world.calm_down()
    assert all(world.account.read(name) for name in ("s.v", "s.w"))
