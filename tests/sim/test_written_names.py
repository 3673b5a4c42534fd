"""Names that traces and scenario files hold stay when a class is renamed."""

from typing import get_args

import msgspec
import pytest

from sim.kernel import trace as kernel_trace
from sim.kernel.trace import Event
from sim.refreshes import events
from sim.refreshes import faults as refresh_faults
from sim.refreshes import messages as refresh_messages
from sim.scans import events as trace
from sim.scans import faults, messages

SCAN_EVENTS = (
    "Accepted BlocksRead BoundaryMoved CancelKnown FootersRead Ignored MessageDoubled "
    "MessageLost NodeCrashed NodeStarted Pruned QueryBegan QueryEnded ReadFailed ScanPlanned SummaryComplete "
    "SummaryKnown TakenForDead TaskBegan TaskGivenUp TaskSent"
)
REFRESH_EVENTS = (
    "Asked Began Broken Committed CommittedAlready Computing Died Executed Failed Flagged Judged "
    "MessageTroubled Misstated Named NotStarted Ordered Purged ReadDone Restarted Resumed Skipped Suspended "
    "Told Wrote"
)
SCAN_FAULTS = "cancel crash late_metadata partition store straggler weather"
REFRESH_FAULTS = "crash dies failing late poison purge scheduler_crash skew slow statement weather"


def tag(struct: type[msgspec.Struct]) -> str:
    """Return the name of a class in JSON and TOML."""
    return str(struct.__struct_config__.tag)


def events_of(module: object) -> list[str]:
    """Return the names of the events that a module defines."""
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return sorted(tag(each) for each in classes if issubclass(each, Event) and each is not Event)


@pytest.mark.parametrize(
    ("module", "names"),
    [(kernel_trace, "FaultBegan FaultEnded"), (trace, SCAN_EVENTS), (events, REFRESH_EVENTS)],
)
def test_the_events_of_a_trace_have_the_names_that_earlier_traces_have(module: object, names: str) -> None:
    assert events_of(module) == names.split()


@pytest.mark.parametrize(
    ("union", "names"), [(faults.AnyFault, SCAN_FAULTS), (refresh_faults.AnyFault, REFRESH_FAULTS)]
)
def test_the_faults_of_scenario_files_have_the_names_that_earlier_files_have(union: type, names: str) -> None:
    assert sorted(map(tag, get_args(union))) == names.split()


def test_messages_have_the_names_that_plans_of_faults_and_random_streams_use() -> None:
    """A message with another name would draw its delays from another stream."""
    scan = [kind.kind for union in (messages.ToNode, messages.ToControl) for kind in get_args(union)]
    assert scan == ["Task", "KnowBoundary", "KnowSummary", "Cancel", "Report", "Heartbeat"]
    assert tuple(scan) == faults.MESSAGES
    assert sorted(refresh_messages.KINDS.values()) == ["Failed", "Finished", "Heartbeat", "StartRefresh"]
    assert set(refresh_messages.KINDS.values()) | {"Commit"} == set(refresh_faults.MESSAGES)
