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
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.store.collecting import (
    BlocksRead,
    footer_reader,
    is_settled,
    read_blocks,
    read_listed_blocks,
    unchanged_listing,
)
from pruning.metadata.table.partial import unread_columns
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match
from pruning.spark.lake.hadoop_files import HadoopFiles, hadoop_listing
from pruning.spark.lake.listings import FILES_HELD_MAX
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


# Reads the block metadata of files with these sizes and times, and of some of their columns or more; of a
# large table, of the blocks that are needed.
MetadataReader: TypeAlias = Callable[[TableFiles, frozenset[str], NeededBlocks | None], BlocksRead]
# The listings of tables of which each file was as Spark had listed it, by what Spark had listed.
_UNCHANGED: Recent[TableFiles, Listing] = Recent(FILES_HELD_MAX)


@dataclass(slots=True)
class BlockReader:
    """Reads the block metadata of tables for one query, so that a self-join reads the same footers once."""

    spark: SparkSession
    _results: dict[TableFiles, tuple[NeededBlocks | None, BlocksRead]] = field(default_factory=dict)

    def read(
        self, files: TableFiles, columns: frozenset[str], question: NeededBlocks | None = None
    ) -> BlocksRead:
        """Return the block metadata of files, of some of their columns or more.

        The files themselves are looked at once for each listing of Spark's: of a file with another size or
        time, Spark's next listing is another one.

        Claim     The metadata is that of files with the sizes and times that Spark has listed.
        Premises  Files with the same size and time are the same, as the store says.
        Proof     (1) A listing is held only if each file was found as Spark had listed it.
                  (2) It is held under all that Spark had listed: each file, its size and its time.
                  (3) What is kept of the files is looked up by that listing, and by the versions of the
                  stores, whenever it is asked for.
        Unsound   for a file that is written after Spark has listed it: Spark itself then reads it by the size
                  that it had, and only a DataFrame that is made anew has a listing with the new one.

        Args:
            files: The files.
            columns: The top-level columns that are needed.
            question: Marks the blocks that are needed; of a large table, the others may be left out.
        """
        question_before, before = self._results.get(files, (None, None))
        if (
            before is not None
            and not unread_columns(before.metadata, columns)
            and (question_before == question or not before.excluded)
        ):
            return before
        result = self._read(files, columns, question)
        self._results.setdefault(files, (question, result))
        return result

    def _read(self, files: TableFiles, columns: frozenset[str], question: NeededBlocks | None) -> BlocksRead:
        listing, failures = _UNCHANGED.get(files), dict[str, str]()
        if listing is None:
            listing, failures = self._listing_now(files)
        if listing is None:
            # Some files have changed, and are read in full.
            return read_blocks(
                files.files, stamps=files.stamps, columns=columns, question=question, spark=self.spark
            )
        footers = footer_reader(self.spark) if files.are_local else HadoopFiles(self.spark).read_footers
        blocks = read_listed_blocks(
            listing, read=footers, columns=columns, question=question, spark=self.spark
        )  # (3)
        return blocks._replace(failures=failures | blocks.failures)

    def _listing_now(self, files: TableFiles) -> tuple[Listing | None, dict[str, str]]:
        """Look at the files, and hold their listing if each is as Spark has listed it.

        Returns:
            The listing of the files, None where local ones have changed; and a sentence about each other one
            that has.
        """
        failures: dict[str, str] = {}
        if files.are_local:
            listing = unchanged_listing(files.files, files.stamps)
        else:
            listing, failures = hadoop_listing(self.spark, files.files, files.stamps)
        # Of a file that was written just now nothing is kept, and so it is looked at again.
        if listing is not None and not failures and is_settled(listing):  # (1)
            _UNCHANGED.keep(files, listing, len(files.files))  # (2)
        return listing, failures
