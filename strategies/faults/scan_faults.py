"""Plans of faults for a simulated warehouse: fewer, earlier and shorter ones are simpler."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sim.kernel.faults import FOREVER_US
from sim.scans.faults import (
    MESSAGES,
    AnyFault,
    CancelQuery,
    Crash,
    LateMetadata,
    Partition,
    ScanMessageFaults,
    StoreTrouble,
    Straggler,
)
from strategies.choices import choose

FAULTS_MAX = 5
_KINDS = (Crash, ScanMessageFaults, Partition, Straggler, StoreTrouble, LateMetadata, CancelQuery)


def fault_plans(*, nodes: int, queries: int, span_us: int) -> SearchStrategy[tuple[AnyFault, ...]]:
    """Up to `FAULTS_MAX` faults that begin and end within a span; node 0 never stays down for ever.

    Args:
        nodes, queries: The numbers of nodes and queries that faults may affect.
    """
    return st.lists(_faults(nodes, queries, span_us), max_size=FAULTS_MAX).map(tuple)


@st.composite
def _faults(draw: DrawFn, nodes: int, queries: int, span_us: int) -> AnyFault:
    begin = draw(st.integers(0, span_us))
    times = {"from_us": begin, "until_us": begin + draw(st.integers(1, span_us))}
    node = draw(st.integers(0, nodes - 1))
    percents = st.sampled_from((0, 5, 20, 50, 100))
    match choose(draw, _KINDS):
        case kind if kind is Crash:
            if node and draw(st.booleans()):
                times["until_us"] = FOREVER_US
            return Crash(node=node, **times)
        case kind if kind is ScanMessageFaults:
            return ScanMessageFaults(
                lost_percent=draw(percents),
                doubled_percent=draw(percents),
                delay_us_max=choose(draw, (0, span_us // 10, span_us)),
                only=choose(draw, ("", *MESSAGES)),
                **times,
            )
        case kind if kind is Partition:
            return Partition(node=node, **times)
        case kind if kind is Straggler:
            return Straggler(node=node, slowdown=choose(draw, (3, 10, 100)), **times)
        case kind if kind is StoreTrouble:
            return StoreTrouble(failed_percent=draw(percents), requests_per_s=choose(draw, (0, 20)), **times)
        case kind if kind is LateMetadata:
            return LateMetadata(delay_us=draw(st.integers(1, span_us)), **times)
        case _:
            return CancelQuery(query=draw(st.integers(0, queries - 1)), from_us=begin, until_us=begin)
