"""The messages between the scheduler and refreshes, which faults may lose, double and delay."""

import random
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TypeVar

from dynamic_tables.scheduling.events import Failed, Finished, Heartbeat, StartRefresh
from sim.kernel import draws
from sim.kernel.draws import Draws
from sim.kernel.trace import Event
from sim.refreshes import events as trace_events
from sim.refreshes.faults import RefreshFaultPlan, RefreshMessageFaults
from sim.refreshes.model import RefreshWorld

Message = TypeVar("Message", bound=StartRefresh | Heartbeat | Finished | Failed)
# The names of messages in traces, plans of faults and random streams; they stay when a class is renamed.
KINDS = {StartRefresh: "StartRefresh", Heartbeat: "Heartbeat", Finished: "Finished", Failed: "Failed"}


class Messages:
    """Delivers messages after a drawn delay.

    Draws: the stream "message/<kind>".
    """

    def __init__(
        self,
        env: draws.Clock,
        *,
        world: RefreshWorld,
        troubles: RefreshFaultPlan,
        seeded: Draws,
        emit: Callable[[Event], None],
    ) -> None:
        self._env = env
        self._troubles = troubles
        self._emit = emit
        self._stream = cache(lambda kind: seeded.stream(f"message/{kind}"))
        self._delay_us_min = world.delay_us_min
        self._delay_count = 1 + world.delay_us_max - world.delay_us_min

    def send(self, message: Message, deliver: Callable[[Message], None]) -> None:
        """Send a message; faults may lose, double or delay it."""
        kind = KINDS[type(message)]
        stream = self._stream(kind)
        message_faults = self._troubles.message_faults(kind) if self._troubles.planned else ()
        for _ in range(self._copies(kind, message_faults, stream) if message_faults else 1):
            delay_us = self._delay_us_min + draws.below(stream, self._delay_count)
            for fault in message_faults:
                delay_us += stream.randint(0, fault.delay_us_max)
            self._env.after(delay_us, partial(deliver, message))

    def is_doubled(self, kind: str) -> bool:
        """Draw whether faults double a call that the simulation does not send as a message."""
        message_faults = self._troubles.message_faults(kind)
        if not message_faults:
            return False
        stream = self._stream(kind)
        doubled = any(stream.random() * 100 < fault.doubled_percent for fault in message_faults)
        if doubled:
            self._report(kind, "doubled")
        return doubled

    def _copies(
        self, kind: str, message_faults: Iterable[RefreshMessageFaults], stream: random.Random
    ) -> int:
        """Return how many copies of a message arrive."""
        copies = 1
        for fault in message_faults:
            if stream.random() * 100 < fault.lost_percent:
                self._report(kind, "lost")
                return 0
            if stream.random() * 100 < fault.doubled_percent:
                self._report(kind, "doubled")
                copies += 1
        return copies

    def _report(self, kind: str, how: str) -> None:
        self._emit(trace_events.MessageTroubled(at_us=self._env.now_us, message=kind, how=how))
