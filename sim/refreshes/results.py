"""What each refresh made of what it was given: the same of the same, whatever the configuration ([D] 6.1).

Shares   what the run recorded of base tables and of contents.
Removes  queries, and with them every opinion on what is right.
"""

import hashlib
from collections.abc import Iterator

from sim.refreshes.recording import Record
from sim.refreshes.run import Run
from sim.refreshes.truths import Truths


def results(run: Run) -> dict[str, str]:
    """Digests of contents, row ids included, by table, data timestamp, and what there was then.

    Clocks are not the same in two configurations, and so may be what a timestamp sees; hence the last.
    """
    found = {}
    given = _Given(run.record)
    for one in run.record.refreshes:
        inputs = given.at(one.data_us)
        found[f"{one.table} at {one.data_us} us of {inputs}"] = _digest(sorted(one.contents.items()))
    return found


class _Given:
    """What dynamic tables are computed from: definitions, and the contents of base tables."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._truths = Truths(record)
        self._known: dict[tuple[str, int], str] = {}

    def at(self, data_us: int) -> str:
        """All of it at a timestamp."""
        return _digest([*self._definitions(data_us), *self._contents(data_us)])

    def _definitions(self, data_us: int) -> Iterator[str]:
        for entity in self._truths.state(data_us).entities.values():
            yield f"{entity.identity} {entity.name} {entity.columns} {entity.definition}"

    def _contents(self, data_us: int) -> Iterator[str]:
        for table, versions in self._record.bases.items():
            number = self._truths.base_version(table, data_us)
            if (table, number) not in self._known:
                held = versions[number][1] if number >= 0 else {}
                self._known[table, number] = _digest([table, *sorted(held.items())])
            yield self._known[table, number]


def _digest(told: object) -> str:
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
