"""Whatever happens, contents equal the query at the data timestamp; flaws that break that are seen."""

from hypothesis import given, settings
from small_world import World
from world_actions import HISTORIES, run


@given(HISTORIES)
@settings(max_examples=200)
def test_delayed_view_semantics_hold_whatever_happens(actions):
    """R-DVS-02, 04, 08, 30, 37, 38, 72 to 74. Under DDL, writes, skew, crashes, repeats and purges."""
    run(World(), actions)
