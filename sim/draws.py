"""Randomness: one stream for each name, so that a new process moves nobody else's draws."""

import random
from collections.abc import Iterator
from typing import cast

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

    def __init__(self, ties: random.Random | None) -> None:
        super().__init__(0)
        self._ties = ties

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """As SimPy does, with a share of the priority drawn where there are to be no ties."""
        drawn = priority if self._ties is None else priority + self._ties.random()
        # Any number is a priority; SimPy's own are whole.
        super().schedule(event, cast("EventPriority", drawn), delay)


def cumulative(stream: random.Random, low: int, high: int, count: int) -> Iterator[int]:
    """The running sums of so many whole numbers drawn evenly from [low, high]."""
    total, width = 0, high - low + 1
    for _ in range(count):
        total += low + int(stream.random() * width)
        yield total
