"""The result of each refresh by its inputs; equal inputs give equal results in all configurations ([D] 6.1).

Shares   the recorded contents of base tables and of refreshes.
Removes  queries, and with them every opinion on which result is right.
"""

import hashlib
from collections.abc import Iterator

from sim.refreshes.recording import Record
from sim.refreshes.run import RefreshRun
from sim.refreshes.truths import ExpectedContents


def results(run: RefreshRun) -> dict[str, str]:
    """Return digests of contents, row ids included, by table, data timestamp and digest of the inputs.

    The inputs are part of the key because clocks, and with them what a timestamp sees, differ between
    configurations.
    """
    digests = {}
    inputs = _Inputs(run.record)
    for refresh in run.record.refreshes:
        input_digest = inputs.digest_at(refresh.data_us)
        digests[f"{refresh.table} at {refresh.data_us} us of {input_digest}"] = _digest(
            sorted(refresh.contents.items())
        )
    return digests


class _Inputs:
    """The inputs of dynamic tables: definitions, and the contents of base tables."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._truths = ExpectedContents(record)
        self._digests: dict[tuple[str, int], str] = {}

    def digest_at(self, data_us: int) -> str:
        """Return the digest of all inputs at a timestamp."""
        return _digest([*self._definitions(data_us), *self._contents(data_us)])

    def _definitions(self, data_us: int) -> Iterator[str]:
        for entity in self._truths.state(data_us).entities.values():
            yield f"{entity.identity} {entity.name} {entity.columns} {entity.definition}"

    def _contents(self, data_us: int) -> Iterator[str]:
        for table, versions in self._record.bases.items():
            number = self._truths.base_version(table, data_us)
            if (table, number) not in self._digests:
                held = versions[number][1] if number >= 0 else {}
                self._digests[table, number] = _digest([table, *sorted(held.items())])
            yield self._digests[table, number]


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
