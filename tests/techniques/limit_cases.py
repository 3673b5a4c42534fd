"""Scans under a LIMIT, run by workers that share them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pruning.rules.sets.truths import Match
from pruning.techniques.limit import LimitPruning

WORKERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCase:
    """Blocks as (live rows, matching live rows, dead rows), what is known of them, and who reads what.

    Attributes:
        worker_of: Who reads a block of a wave; worker 0 is the one that asks for waves.
        shared: Blocks that worker 1 reads again with each of its parts.
    """

    blocks: tuple[tuple[int, int, int], ...]
    matches: tuple[Match, ...]
    limit: int
    offset: int
    worker_of: tuple[int, ...]
    shared: tuple[int, ...]

    @property
    def wanted(self) -> int:
        """How many rows the query asks of the scan."""
        return self.limit + self.offset

    @property
    def matching(self) -> int:
        """How many rows satisfy the filter."""
        return sum(matching for _, matching, _ in self.blocks)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The verdicts and the live rows, a lane per block."""
        return np.array(self.matches, np.int8), np.array([live for live, _, _ in self.blocks], np.int64)

    def machine(self) -> LimitPruning:
        """The technique, before anything was read."""
        return LimitPruning(*self.arrays(), wanted=self.wanted)

    def rows_of(self, blocks: Sequence[int]) -> int:
        """The rows of the result in some blocks."""
        return sum(self.blocks[block][1] for block in set(blocks))


@st.composite
def limit_cases(draw: st.DrawFn) -> LimitCase:
    """Cases whose verdicts are true of the rows, though maybe weak.

    Shrinks to: no block, LIMIT 0.
    """
    block = st.integers(0, 5).flatmap(
        lambda live: st.tuples(
            st.just(live), st.just(live) | st.just(0) | st.integers(0, live), st.integers(0, 3)
        )
    )
    blocks = tuple(draw(st.lists(block, max_size=8)))
    ordinals = st.integers(0, max(0, len(blocks) - 1))
    return LimitCase(
        blocks=blocks,
        matches=tuple(draw(_verdict(live, matching)) for live, matching, _ in blocks),
        limit=draw(st.integers(0, 20)),
        offset=draw(st.integers(0, 5)),
        worker_of=tuple(draw(st.integers(0, WORKERS - 1)) for _ in blocks),
        shared=tuple(draw(st.lists(ordinals, max_size=2))) if blocks else (),
    )


def _verdict(live: int, matching: int) -> st.SearchStrategy[Match]:
    known = Match.NONE if matching == 0 else Match.ALL if matching == live else Match.SOME
    return st.sampled_from([known, Match.SOME] if live else [known])


def run(case: LimitCase, machine: Callable[[], LimitPruning] | None = None) -> set[int]:
    """The blocks that were read until the technique asked for no more."""
    make = case.machine if machine is None else machine
    workers = [make() for _ in range(WORKERS)]
    read: set[int] = set()
    while len(wave := workers[0].next_blocks()):
        assert not read.issuperset(wave.tolist()), "each wave reads something new"
        for number, worker in enumerate(workers):
            part = [block for block in wave.tolist() if case.worker_of[block] == number]
            if part and number == 1:
                part += case.shared
            if part:
                read.update(part)
                worker.observe(np.array(part), case.rows_of(part))
                if number:
                    workers[0].merge(worker)
    return read


def short_of_rows(case: LimitCase, machine: Callable[[], LimitPruning] | None = None) -> bool:
    """Whether the blocks read give too few rows, or the technique did not come to an end."""
    try:
        read = run(case, machine)
    except AssertionError:
        return True
    return case.rows_of(list(read)) < min(case.wanted, case.matching)
