"""The clock gives timestamps in one order, whatever wall clocks, messages and restarts do."""

from hypothesis import example, given
from hypothesis import strategies as st

from dynamic_tables.storage.clock import Clock, Timestamp
from mutants.clocks import ForgetsItsMark, IgnoresMessages, IgnoresReaders, TrustsItsWall

NODES = st.integers(0, 2)
WALLS = st.integers(0, 5_000_000)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tick"), NODES, WALLS),
        st.tuples(st.just("restart"), NODES, WALLS),
        st.tuples(st.just("read"), NODES, WALLS),
    ),
    max_size=40,
)


def given_timestamps(steps, clock_class=Clock):
    """Run clocks of three nodes; each tick is sent to the next node."""
    marks = {node: [-1] for node in range(3)}
    clocks = {node: clock_class(node, save=marks[node].append) for node in range(3)}
    given_by = {node: [] for node in range(3)}
    late = []
    for kind, node, wall_us in steps:
        if kind == "restart":
            clocks[node] = clock_class(node, mark_us=marks[node][-1], save=marks[node].append)
        elif kind == "read":
            clocks[node].pass_over(wall_us)
            stamp = clocks[node].tick(0)
            late.append(stamp.physical_us <= wall_us)
            given_by[node].append(stamp)
        else:
            stamp = clocks[node].tick(wall_us)
            given_by[node].append(stamp)
            receiver = (node + 1) % 3
            clocks[receiver].receive(stamp)
            answer = clocks[receiver].tick(0)
            given_by[receiver].append(answer)
            late.append(answer <= stamp)
    return given_by, late


def holds(steps, clock_class=Clock):
    given_by, late = given_timestamps(steps, clock_class)
    forward = all(stamps == sorted(stamps) for stamps in given_by.values())
    every = [stamp for stamps in given_by.values() for stamp in stamps]
    return forward and len(set(every)) == len(every) and not any(late)


@given(STEPS)
@example([("tick", 0, 7), ("restart", 0, 0), ("tick", 0, 3)])
def test_the_clock_never_goes_back(steps):
    """R-DVS-80, trap 46. Over restarts, wall clocks that step, and messages, each is above those before."""
    assert holds(steps)


def test_broken_clocks_are_seen():
    """R-DVS-80. A clock that trusts its wall, forgets its mark or ignores messages is told apart."""
    back = [("tick", 0, 9), ("tick", 0, 3), ("tick", 0, 3)]
    assert not holds(back, TrustsItsWall)
    assert not holds([("tick", 1, 9), ("restart", 1, 0), ("tick", 1, 3)], ForgetsItsMark)
    assert not holds([("tick", 0, 9)], IgnoresMessages)
    assert not holds([("read", 0, 9)], IgnoresReaders)


def test_equal_wall_times_are_told_apart_by_the_counter_and_the_node():
    """R-DVS-80. Ties are impossible: the logical counter within a node, the node's number between nodes."""
    clock, other = Clock(0), Clock(1)
    first, second, third = clock.tick(5), clock.tick(5), other.tick(5)
    assert first == Timestamp(5, 0, 0)
    assert second == Timestamp(5, 1, 0)
    assert first < third < second


def test_marks_are_saved_rarely_and_before_use():
    """R-DVS-80. A thousand timestamps of one millisecond save one mark, which is above all of them."""
    marks = []
    clock = Clock(0, save=marks.append)
    stamps = [clock.tick(wall_us) for wall_us in range(1_000)]
    assert len(marks) == 1
    assert marks[0] >= stamps[-1].physical_us
