"""Traces: events in the order of their times, as they are written to a file."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec


# A run keeps millions of events, and none can be part of a reference cycle: exempt them from garbage
# collection.
class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", gc=False):
    """An event at a simulated time."""

    at_us: int


class FaultBegan(Event, frozen=True, kw_only=True, tag="FaultBegan"):
    """A fault of the plan began; `fault` is its text."""

    fault: str


class FaultEnded(Event, frozen=True, kw_only=True, tag="FaultEnded"):
    """A fault of the plan ended; `fault` is its text."""

    fault: str


Trace: TypeAlias = list[Event]


_ENCODER = msgspec.json.Encoder()


def lines(trace: Iterable[Event]) -> Iterator[bytes]:
    """Yield the events as lines of JSON; the same trace gives the same bytes."""
    for event in trace:
        yield _ENCODER.encode(event) + b"\n"
