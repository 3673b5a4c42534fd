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
