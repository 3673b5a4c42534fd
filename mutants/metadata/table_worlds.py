"""Readers of tables, and statements on them, that are wrong in one way each."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyroaring import BitMap
from pyspark.sql import DataFrame

from mutants.metadata import delta_beliefs, iceberg_versions
from mutants.replacements import Replacement
from pruning.dml import running
from pruning.dml.running import StatementRun
from pruning.metadata.delta import file_statistics
from pruning.metadata.delta.vectors import DeletionVectors
from pruning.metadata.iceberg import opening
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes

_data_partitions = opening.DataPartitions
_written, _rows_at = StatementRun._written, running.rows_at


@dataclass(frozen=True, kw_only=True)
class WorldMutant:
    """A mutant, and the worlds in which it is soon found out.

    Attributes:
        format: The format of the tables.
        kinds: The kinds of steps.
        wrong: The mutant.
    """

    format: str
    kinds: tuple[str, ...]
    wrong: Replacement


def _no_rows(vectors: DeletionVectors, places: Sequence[int]) -> list[BitMap]:
    return [BitMap() for _ in places]


def _no_files(applied: AppliedDeletes, place: int) -> list[int]:
    return []


def _by_the_first_spec(files: Any, data: Any, specs: Mapping[int, Any]) -> Any:
    last = specs[max(specs)]
    return _data_partitions(files, data, dict.fromkeys(specs, last))


def _cut_alone(scalar: Any, *, is_upper: bool) -> str:
    text: str = scalar.as_py()
    return text[: file_statistics.STRING_CHARACTERS]


def _without_kept_rows(run: StatementRun, copied: Any, marked: Any, directory: str) -> Any:
    if not copied:
        return _written(run, copied, marked, directory)
    return [], {}


def _old_rows_too(run: StatementRun, rows: DataFrame) -> DataFrame:
    return _updated_rows(run, rows).union(rows)


_updated_rows = StatementRun._updated_rows
