"""Reading block metadata for a query: what is kept beside the data, and footers where nothing is."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.trees import Expression
from pruning.expressions.types import Type
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.locations import is_on_local_disk
from pruning.metadata.store.collecting import BlocksRead, read_blocks
from pruning.metadata.table.partial import unread_columns
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match
from pruning.spark.lake.hadoop_files import read_hadoop_blocks
from pruning.spark.lake.matching import matching_columns
from pruning.verdicts.classification import classify_blocks, compile_predicate


@dataclass(frozen=True, slots=True)
class NeededBlocks:
    """Marks the blocks that may hold a row on which a condition is TRUE, by bounds and counts alone.

    Attributes:
        condition: The condition.
        types: The types that Spark gives the columns of the table's files, by exact name.
    """

    condition: Expression
    types: Mapping[str, Type]

    def __call__(self, metadata: pa.Table) -> np.ndarray:
        """Return the mark of each block; shape (blocks,)."""
        try:
            program = _compile_once(self.condition)
        except RecursionError:
            # The condition is nested more deeply than Python can follow, so nothing is concluded.
            return np.ones(len(metadata), bool)
        verdicts = classify_blocks(program, matching_columns(metadata, self.types))
        needed: np.ndarray = verdicts.to_numpy() != Match.NONE
        return needed


@functools.lru_cache(maxsize=16)
def _compile_once(condition: Expression) -> Program:
    return compile_predicate(condition)


_Files: TypeAlias = tuple[str, ...]
_Stamps: TypeAlias = tuple[Stamp, ...]
# Reads the block metadata of files with these sizes and times, and of some of their columns or more; of a
# large table, of the blocks that are needed.
MetadataReader: TypeAlias = Callable[[_Files, _Stamps, frozenset[str], NeededBlocks | None], BlocksRead]


@dataclass(slots=True)
class BlockReader:
    """Reads the block metadata of tables for one query, so that a self-join reads the same footers once."""

    spark: SparkSession
    _results: dict[tuple[_Files, _Stamps], tuple[NeededBlocks | None, BlocksRead]] = field(
        default_factory=dict
    )

    def read(
        self, files: _Files, stamps: _Stamps, columns: frozenset[str], question: NeededBlocks | None = None
    ) -> BlocksRead:
        """Return the block metadata of files, of some of their columns or more.

        Args:
            files: The files.
            stamps: Their sizes and times.
            columns: The top-level columns that are needed.
            question: Marks the blocks that are needed; of a large table, the others may be left out.
        """
        question_before, before = self._results.get((files, stamps), (None, None))
        if (
            before is not None
            and not unread_columns(before.metadata, columns)
            and (question_before == question or not before.excluded)
        ):
            return before
        if all(map(is_on_local_disk, files)):
            result = read_blocks(files, stamps=stamps, columns=columns, question=question, spark=self.spark)
        else:
            result = read_hadoop_blocks(self.spark, files, stamps, columns, question)
        self._results.setdefault((files, stamps), (question, result))
        return result
