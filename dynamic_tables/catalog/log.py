"""The catalog: an ordered log of statements with their times, from which every state is derived."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable

from dynamic_tables.catalog.applying import Entry, Step, apply
from dynamic_tables.catalog.ddl import Role, Statement
from dynamic_tables.catalog.entities import State
from dynamic_tables.storage.clock import Timestamp

# The number of past states that are kept; older states are computed again.
STATES_KEPT = 64


class Catalog:
    """The log, and the state after its last entry.

    Attributes:
        read_us: The greatest data timestamp at which the catalog was read.
    """

    def __init__(self) -> None:
        """Create an empty catalog."""
        self._log: list[Entry] = []
        self._states: deque[tuple[int, State]] = deque([(-1, State())], maxlen=STATES_KEPT)
        self.read_us = -1

    @property
    def log(self) -> tuple[Entry, ...]:
        """All entries, oldest first."""
        return tuple(self._log)

    @property
    def state(self) -> State:
        """The state after the last entry."""
        return self._states[-1][1]

    @property
    def last(self) -> Timestamp | None:
        """The commit time of the last entry; None if there is none."""
        return self._log[-1].committed if self._log else None

    def append(self, statement: Statement, *, role: Role, committed: Timestamp) -> Step:
        """Apply a statement after all others, and add it to the log (R-DVS-45).

        Raises:
            InputError: The statement is refused; the log is not changed.
        """
        assert self.last is None or committed > self.last, "the log is in the order of its timestamps"
        assert committed.physical_us > self.read_us, "a reader has seen that there is no such entry"
        entry = Entry(committed, role, statement)
        step = apply(self.state, entry)
        self._log.append(entry)
        self._states.append((committed.physical_us, step.state))
        return step

    def as_of(self, data_us: int) -> State:
        """Return the state at a data timestamp, which no later entry will change (R-DVS-83)."""
        if data_us > self.read_us:
            self.read_us = data_us
        for since_us, state in reversed(self._states):
            if since_us <= data_us:
                return state
        count = bisect_right(self._log, data_us, key=lambda entry: entry.committed.physical_us)
        return replay(self._log[:count])


def replay(log: Iterable[Entry]) -> State:
    """Return the state after all entries of a log."""
    state = State()
    for entry in log:
        state = apply(state, entry).state
    return state
