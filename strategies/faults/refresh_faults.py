"""Plans of faults for simulated dynamic tables: fewer, earlier and shorter ones are simpler."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sim.refreshes.faults import (
    MESSAGES,
    PHASES,
    AnyFault,
    Failing,
    Late,
    NodeCrash,
    Poison,
    Purge,
    RefreshMessageFaults,
    SchedulerCrash,
    Skew,
    Slow,
    Surgery,
    Targets,
    WorkerDies,
)
from strategies.choices import choose

FAULTS_MAX = 5
_KINDS = (
    *(NodeCrash, WorkerDies, Slow, Failing, Late, Skew, RefreshMessageFaults, Poison, Purge, Surgery),
    SchedulerCrash,
)
_SECOND_US = 1_000_000


def refresh_fault_plans(targets: Targets) -> SearchStrategy[tuple[AnyFault, ...]]:
    """Up to `FAULTS_MAX` faults that begin and end within the span of their targets."""
    return st.lists(_faults(targets), max_size=FAULTS_MAX).map(tuple)


@st.composite
def _faults(draw: DrawFn, targets: Targets) -> AnyFault:
    begin = draw(st.integers(0, targets.span_us // _SECOND_US - 1)) * _SECOND_US
    lasts = draw(st.integers(1, (targets.span_us - begin) // _SECOND_US)) * _SECOND_US
    times = {"from_us": begin, "until_us": begin + lasts}
    percents = st.sampled_from((0, 30, 100))
    table = st.sampled_from(targets.tables)
    match choose(draw, _KINDS):
        case kind if kind is NodeCrash:
            return NodeCrash(node=draw(st.integers(0, targets.nodes - 1)), **times)
        case kind if kind is SchedulerCrash:
            return SchedulerCrash(**times)
        case kind if kind is WorkerDies:
            return WorkerDies(phase=choose(draw, PHASES), percent=draw(percents), **times)
        case kind if kind is Slow:
            return Slow(slowdown=choose(draw, (5, 60)), table=draw(table), **times)
        case kind if kind is Failing:
            return Failing(percent=draw(percents), table=draw(table), **times)
        case kind if kind is Late:
            return Late(table=draw(table), delay_us=draw(st.integers(1, 100)) * _SECOND_US, **times)
        case kind if kind is Skew:
            node = draw(st.integers(0, targets.nodes - 1))
            return Skew(node=node, offset_us=draw(st.integers(-5, 5)) * _SECOND_US, **times)
        case kind if kind is RefreshMessageFaults:
            return RefreshMessageFaults(
                lost_percent=draw(percents),
                doubled_percent=draw(percents),
                delay_us_max=choose(draw, (0, 20 * _SECOND_US)),
                only=choose(draw, ("", *MESSAGES)),
                **times,
            )
        case kind if kind is Poison:
            return Poison(table=choose(draw, targets.bases), **times)
        case kind if kind is Purge:
            return Purge(keep_us=draw(st.integers(0, 60)) * _SECOND_US, from_us=begin, until_us=begin)
        case _:
            sql, undo = choose(draw, targets.surgeries)
            return Surgery(sql=sql, undo=undo, **times)
