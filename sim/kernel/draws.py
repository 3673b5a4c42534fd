"""Randomness: one stream for each name, so that a new process does not change what others draw."""

import random
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from simpy import Environment, Event
from simpy.events import NORMAL, EventPriority


class Draws:
    """The random streams of one run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """Return the stream of that name; it goes on where the last draw from it ended."""
        if name not in self._streams:
            self._streams[name] = random.Random(f"{self._seed}/{name}")
        return self._streams[name]


class Clock(Environment):
    """A clock of whole microseconds that shuffles the events of one instant.

    SimPy handles events of equal times in the order in which they were scheduled, so that no run would see
    another order.

    """

    # Entries are (time, priority, count, event or call). SimPy's priorities are whole numbers; ours may be
    # fractions.
    _queue: list[Any]
    # A whole number, because every delay is one.
    _now: int

    def __init__(self, ties: random.Random | None) -> None:
        super().__init__(0)
        self._task_size: Callable[[], float] = ties.random if ties else lambda: 0.0

    @property
    def now_us(self) -> int:
        """The current time."""
        return self._now

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule as SimPy does, with a drawn fraction added to the priority if ties are shuffled."""
        heappush(self._queue, (self._now + delay, priority + self._task_size(), next(self._eid), event))

    def after(self, delay_us: int, call: Callable[[], object]) -> None:
        """Call a function after a delay; a process that waits and calls it would take three events."""
        share = NORMAL + self._task_size()
        heappush(self._queue, (self._now + delay_us, share, next(self._eid), call))

    def step(self) -> None:
        """Handle the next event as SimPy does, or make the next call."""
        queue = self._queue
        if not queue or isinstance(queue[0][-1], Event):
            super().step()
        else:
            self._now, _, _, call = heappop(queue)
            call()


def below(stream: random.Random, count: int) -> int:
    """Return a random whole number below `count`: the one that `randrange` draws, in a third of the time."""
    bits = count.bit_length()
    while (number := stream.getrandbits(bits)) >= count:
        pass
    return number


def cumulative(stream: random.Random, low: int, high: int, count: int) -> Iterator[int]:
    """Yield the running sums of `count` whole numbers drawn evenly from [low, high]."""
    total, width = 0, high - low + 1
    for _ in range(count):
        total += low + int(stream.random() * width)
        yield total
