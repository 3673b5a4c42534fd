"""Messages under way, and scarce resources: the links of nodes and the request rate of the object store."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from sim.kernel.draws import Clock, Draws
from sim.kernel.model import MICROSECONDS
from sim.kernel.trace import Event
from sim.scans.events import MessageDoubled, MessageLost
from sim.scans.faults import ScanFaultPlan
from sim.scans.model import ScanWorld

# Adds an event to the trace.
Emit: TypeAlias = Callable[[Event], None]


class Message(Protocol):
    """A message, whose `kind` is its name in traces and in plans of faults."""

    @property
    def kind(self) -> str:
        """The kind of this message."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The parts of a run that its processes share.

    Attributes:
        turns: The rate limiter of the object store, for the requests of all nodes.
        emit: Adds an event to the trace.
    """

    clock: Clock
    world: ScanWorld
    troubles: ScanFaultPlan
    draws: Draws
    turns: "RateLimiter"
    emit: Emit


class Wire:
    """Carries messages between the control plane and nodes.

    Draws: the stream "network", three times for each message.
    """

    def __init__(self, context: RunContext) -> None:
        self._clock, self._model = context.clock, context.world.network
        self._troubles, self._emit = context.troubles, context.emit
        self._stream = context.draws.stream("network")

    def send(
        self, message: Message, deliver: Callable[[Any], None], *, node: int, to: str, size_bytes: int = 0
    ) -> None:
        """Deliver a message once, twice, or never.

        Args:
            node: The node at one end.
            to: The receiver, for the trace.
        """
        now, kind, random = self._clock.now_us, message.kind, self._stream.random
        lost, doubled, share = random(), random(), random()
        # Most worlds have no faults, and most messages are heartbeats.
        is_troubled = bool(self._troubles.plan)
        message_faults = self._troubles.message_faults(kind, now) if is_troubled else ()
        if is_troubled and (
            self._troubles.is_cut_off(node, now)
            or any(lost * 100 < fault.lost_percent for fault in message_faults)
        ):
            self._emit(MessageLost(at_us=now, kind=kind, to=to))
            return
        copies = 1
        if message_faults and any(doubled * 100 < fault.doubled_percent for fault in message_faults):
            self._emit(MessageDoubled(at_us=now, kind=kind, to=to))
            copies = 2
        low, high = self._model.delay_us_min, self._model.delay_us_max
        if message_faults:
            high += max(0, *(fault.delay_us_max for fault in message_faults))
        for copy in range(copies):
            delay = low + int(share * (high - low + 1)) * (copy + 1)
            delay += size_bytes * MICROSECONDS // self._model.bytes_per_s
            self._clock.after(delay, partial(deliver, message))


class RateLimiter:
    """A server that serves requests in turn, at a limited rate."""

    def __init__(self, per_s: int) -> None:
        self._per_s, self._free_us = per_s, 0

    def until(self, now_us: int, amount: int, *, per_s: int = 0) -> int:
        """Return when `amount` will have been served to a request that arrives now; a rate of 0 takes no
        time.

        Args:
            per_s: A lower rate for this time.
        """
        rate = min((rate_ for rate_ in (self._per_s, per_s) if rate_), default=0)
        if not rate:
            return now_us
        self._free_us = max(self._free_us, now_us) + amount * MICROSECONDS // rate
        return self._free_us
