"""Traces: what happened, in the order of the times, as it is written to a file."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec


# Millions are kept, and none can be part of a cycle: the garbage collector is spared them.
class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", gc=False):
    """Something that happened at a time."""

    at_us: int


class FaultBegan(Event, frozen=True, kw_only=True, tag="FaultBegan"):
    """A fault of the plan, as its own text."""

    fault: str


class FaultEnded(Event, frozen=True, kw_only=True, tag="FaultEnded"):
    """Likewise."""

    fault: str


Trace: TypeAlias = list[Event]


_ENCODER = msgspec.json.Encoder()


def lines(trace: Iterable[Event]) -> Iterator[bytes]:
    """The events as JSON, a line each; the same trace gives the same bytes."""
    for event in trace:
        yield _ENCODER.encode(event) + b"\n"
