"""Readers of tables, and statements on them, that are wrong in one way each, and worlds that show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyroaring import BitMap

from mutants.metadata import delta_beliefs, iceberg_versions
from mutants.replacements import Replacement
from pruning.dml.delta_targets import DeltaTarget
from pruning.dml.iceberg_targets import IcebergTarget
from pruning.dml.targets import StatementChange
from pruning.metadata.delta.vectors import DeletionVectors
from pruning.metadata.iceberg import opening, partition_values
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes

_data_partitions = partition_values.DataPartitions
_commit_delta, _commit_iceberg = DeltaTarget.commit, IcebergTarget.commit


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldMutant:
    """A mutant, and the worlds in which it is soon found out.

    Attributes:
        format: The format of the tables.
        kinds: The kinds of steps.
        mutant: The mutant.
    """

    format: str
    kinds: tuple[str, ...]
    mutant: Replacement


def _no_rows(vectors: DeletionVectors, places: Sequence[int]) -> list[BitMap]:
    return [BitMap() for _ in places]


def _no_files(applied: AppliedDeletes, place: int) -> list[int]:
    return []


def _by_the_newest_spec(files: Any, data: Any, specs: Mapping[int, Any]) -> Any:
    return _data_partitions(files, data, dict.fromkeys(specs, specs[max(specs)]))


def _keep_old_rows(target: DeltaTarget, spark: Any, change: StatementChange) -> int:
    return _commit_delta(target, spark, replace(change, deleted={}))


def _lose_copied_rows(target: IcebergTarget, spark: Any, change: StatementChange) -> int:
    return _commit_iceberg(target, spark, replace(change, written=()))


MUTANTS: Mapping[str, WorldMutant] = {
    "a deletion vector is forgotten": WorldMutant(
        format="delta",
        kinds=("delete_positions",),
        mutant=Replacement(DeletionVectors, "positions", _no_rows),
    ),
    "deleted rows of Delta Lake are counted": WorldMutant(
        format="delta",
        kinds=("delete_positions",),
        mutant=delta_beliefs.MUTANTS["deleted rows are counted"],
    ),
    "a cut upper bound is a whole text": WorldMutant(
        format="delta",
        kinds=("append", "compact"),
        mutant=delta_beliefs.MUTANTS["a cut upper bound is a whole text"],
    ),
    "an update keeps the old rows": WorldMutant(
        format="delta", kinds=("update",), mutant=Replacement(DeltaTarget, "commit", _keep_old_rows)
    ),
    "files with positions are forgotten": WorldMutant(
        format="iceberg",
        kinds=("delete_positions",),
        mutant=Replacement(AppliedDeletes, "position_files", _no_files),
    ),
    "deleted rows of Iceberg are counted": WorldMutant(
        format="iceberg",
        kinds=("delete_positions",),
        mutant=iceberg_versions.MUTANTS["deleted rows are counted"],
    ),
    "fields are found by their names": WorldMutant(
        format="iceberg",
        kinds=("rename_column", "add_column", "drop_column"),
        mutant=iceberg_versions.MUTANTS["fields are found by their names"],
    ),
    "files are in partitions of the newest spec": WorldMutant(
        format="iceberg",
        kinds=("evolve_partitions", "append"),
        mutant=Replacement(opening, "DataPartitions", _by_the_newest_spec),
    ),
    "a deletion loses the rows that stay": WorldMutant(
        format="iceberg", kinds=("delete",), mutant=Replacement(IcebergTarget, "commit", _lose_copied_rows)
    ),
}
