"""Randomness: one stream for each name, so that a new process moves nobody else's draws."""

import random
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from simpy import Environment, Event
from simpy.events import NORMAL, EventPriority


class Draws:
    """The streams of one run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of that name, as far as it has been drawn from."""
        if name not in self._streams:
            self._streams[name] = random.Random(f"{self._seed}/{name}")
        return self._streams[name]


class Clock(Environment):
    """A clock of whole microseconds, on which what falls on one instant comes in a drawn order.

    SimPy would take it first-in first-out, and no run would see another order.
    """

    # By time, priority (any number is one; SimPy's own are whole), and a count; and the event, or the call.
    _queue: list[Any]
    # Whole, because every delay is.
    _now: int

    def __init__(self, ties: random.Random | None) -> None:
        super().__init__(0)
        self._share: Callable[[], float] = ties.random if ties else lambda: 0.0

    @property
    def now_us(self) -> int:
        """The time."""
        return self._now

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """As SimPy does, with a share of the priority drawn where there are to be no ties."""
        heappush(self._queue, (self._now + delay, priority + self._share(), next(self._eid), event))

    def after(self, delay_us: int, call: Callable[[], object]) -> None:
        """Call something after a while; a process that waits and does it takes three events."""
        share = NORMAL + self._share()
        heappush(self._queue, (self._now + delay_us, share, next(self._eid), call))

    def step(self) -> None:
        """Take the next event as SimPy does, or make the next call."""
        queue = self._queue
        if not queue or isinstance(queue[0][-1], Event):
            super().step()
        else:
            self._now, _, _, call = heappop(queue)
            call()


def below(stream: random.Random, count: int) -> int:
    """A whole number below `count`, the same that `randrange` draws, in a third of the time."""
    bits = count.bit_length()
    while (drawn := stream.getrandbits(bits)) >= count:
        pass
    return drawn


def cumulative(stream: random.Random, low: int, high: int, count: int) -> Iterator[int]:
    """The running sums of so many whole numbers drawn evenly from [low, high]."""
    total, width = 0, high - low + 1
    for _ in range(count):
        total += low + int(stream.random() * width)
        yield total
