"""Measure how many questions a second the stand asks each engine, of processor time.

    PYTHONPATH=. python bench/stand/speed.py [--engines NAME ...] [--examples N] [--seed N]

The processor time is that of the hunt and of the engine's worker together, from drawing to judging, without
the start of the worker. A Java process that the worker starts is not in it, only in the time by the clock.
Wrong answers are counted but not shrunk. Prints Markdown.
"""

import argparse
import os
import time
from dataclasses import dataclass

from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from skipproof.stand.hunt.writing import available_writers, make_write
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Worker

EXAMPLES = 2_000
ENGINES = ("duckdb", "arrow", "polars", "datafusion")
_HEADINGS = (
    "engine",
    "examples",
    "worlds",
    "seconds of the hunt",
    "of the engine",
    "examples a second",
    "by the clock",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The counts of a hunt, the processor seconds of it and of its worker, and the seconds by the clock."""

    engine: str
    examples: int
    worlds: int
    hunt_seconds: float
    worker_seconds: float
    clock_seconds: float

    @property
    def per_second(self) -> float:
        """The examples for a second of processor time."""
        return self.examples / (self.hunt_seconds + self.worker_seconds)


def _children_seconds() -> float:
    """Return the processor time of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def start(name: str) -> Worker:
    """Start the worker of an engine."""
    return Worker(engines.find_engine(name).command)


def start_seconds(name: str) -> float:
    """Return the processor time that a worker takes to start."""
    before = _children_seconds()
    start(name).close()
    return _children_seconds() - before


def measure(name: str, examples: int, seed: int) -> Speed:
    """Hunt without shrinking, and return the times."""
    to_start = start_seconds(name)
    children_before = _children_seconds()
    with start(name) as worker:
        own_before, since = sum(os.times()[:2]), time.monotonic()
        workers = {name: worker}
        state = hunt(
            worker,
            capabilities(worker, writers=available_writers(workers)),
            Limits(examples=examples, seconds=None),
            hunt_seed=seed,
            write=make_write(workers),
            sought=lambda world, outcome: False,
        )
        own_seconds, clock_seconds = sum(os.times()[:2]) - own_before, time.monotonic() - since
    return Speed(
        engine=name,
        examples=state.examples,
        worlds=state.worlds,
        hunt_seconds=own_seconds,
        worker_seconds=_children_seconds() - children_before - to_start,
        clock_seconds=clock_seconds,
    )


def main() -> None:
    """Measure the engines one after the other, and print their speeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engines", nargs="+", default=ENGINES, metavar="NAME")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    options = parser.parse_args()
    print(f"| {' | '.join(_HEADINGS)} |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in options.engines:
        speed = measure(name, options.examples, options.seed)
        print(
            f"| {name} | {speed.examples:,} | {speed.worlds:,} | {speed.hunt_seconds:.1f} "
            f"| {speed.worker_seconds:.1f} | {speed.per_second:.1f} "
            f"| {speed.examples / speed.clock_seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
