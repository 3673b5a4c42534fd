"""The workers of the engines: those on Spark take seconds to start, so a run has one of each."""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Worker


@pytest.fixture(scope="session")
def engine_worker() -> Iterator[Callable[[str], Worker]]:
    """A function that returns the worker of an engine, which is started when it is first asked for."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(Worker(find_engine(name).command, seconds_max=120.0)))
