"""Readers of tables' logs that tell other rows than a commit has changed, or other reads than it has had."""

from collections.abc import Mapping
from typing import Any

from pyroaring import BitMap

from mutants.replacements import Replacement
from pruning.metadata.delta import row_changes as of_delta
from pruning.metadata.iceberg import row_changes as of_iceberg
from skipproof.histories import table_histories
from strategies.histories.histories import Predicate

_readers = table_histories._readers


def _no_row(*_: Any, **__: Any) -> BitMap:
    return BitMap()


def _every_row(live: Any, file: str) -> BitMap:
    return BitMap(range(live._row_count_of(live.snapshot_id, file)))


def _no_copy(*_: Any) -> dict[Any, Any]:
    return {}


def _read_just_before(commits: Any) -> Any:
    """Let each statement read the version before its commit."""
    readers, unchecked = _readers(commits)
    late: dict[int, list[Any]] = {commit.version: [] for commit in commits}
    for of_version in readers.values():
        for reader in of_version:
            place = [commit.version for commit in commits].index(reader.version)
            late[commits[place - 1].version].append(reader)
    return late, unchecked


def _nothing_matches(*_: Any) -> Predicate:
    return Predicate(frozenset(), frozenset())


def _place_alone(objects: Any, place: Any) -> str:
    return f"{place[0]}[{place[1]}]"


DELTA_MUTANTS: Mapping[str, Replacement] = {
    "vectors forgotten": Replacement(of_delta, "_deleted_rows", _no_row),
}
ICEBERG_MUTANTS: Mapping[str, Replacement] = {
    "deleted rows counted as removed": Replacement(of_iceberg._LiveRows, "rows", _every_row),
    "delete files forgotten": Replacement(of_iceberg._LiveRows, "_deleted_by_files", _no_row),
}
HISTORY_MUTANTS: Mapping[str, Replacement] = {
    "copies written": Replacement(table_histories._Objects, "_copies", _no_copy),
    "reads just before the commit": Replacement(table_histories, "_readers", _read_just_before),
    "conditions that match nothing": Replacement(table_histories, "_predicate", _nothing_matches),
    "keys ignored": Replacement(table_histories._Objects, "_name", _place_alone),
}
