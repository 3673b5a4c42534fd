"""Files of very large tables of Iceberg that the filters of a query leave, decided in Spark's tasks.

The driver holds each file that Iceberg plans for a query, with its metrics. Of a table of a million files it
asks for those alone that are left by the metrics in Iceberg's metadata table `entries`, which Spark reads
manifest by manifest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.trees import Expression
from pruning.metadata.iceberg.blocks import iceberg_blocks
from pruning.metadata.iceberg.entry_rows import IS_LIVE, entry_columns, facts_of_entries
from pruning.metadata.iceberg.fields import IcebergField
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match
from pruning.spark.jvm.gateway import Java, dataframe
from pruning.verdicts.classification import classify_blocks, compile_predicate


@dataclass(frozen=True, slots=True)
class _EntryFilter:
    """Keeps the locations of files in which a row may satisfy one of the predicates."""

    programs: tuple[Program, ...]
    fields: Mapping[str, IcebergField]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ids = [field.id for field in self.fields.values()]
        for batch in batches:
            blocks = iceberg_blocks(facts_of_entries(batch, ids), self.fields)
            is_needed = np.zeros(len(batch), np.bool_)
            for program in self.programs:
                is_needed |= classify_blocks(program, blocks).to_numpy() != Match.NONE
            yield batch.select(["file"]).filter(pa.array(is_needed))


def files_left(
    spark: SparkSession,
    planning: Java,
    fields: Mapping[str, IcebergField],
    predicates: Sequence[Expression],
    most: int,
) -> list[str] | None:
    """Return the locations of the snapshot's files in which some predicate may be TRUE on a row.

    Claim     In a file that is left out, no predicate is TRUE on any live row.
    Premises  As for `iceberg_blocks`, of which no more is asked than what holds of all rows that were
              written; the rules are sound.
    Proof     A file is left out if its block is called NONE for each predicate.

    Args:
        spark: The session.
        planning: The planning on the Java side.
        fields: The fields whose metrics are asked for, by their names.
        predicates: Those of the scans; a file is kept if one of them needs it.
        most: The most files that are wanted.
    Returns:
        None if more than `most` are left.
    """
    programs = tuple(map(compile_predicate, predicates))
    entries = dataframe(spark, planning.entries()).where(IS_LIVE)
    rows = entries.selectExpr(*entry_columns([field.id for field in fields.values()]))
    left = rows.mapInArrow(_EntryFilter(programs, dict(fields)), "file string").limit(most + 1)
    files = [row.file for row in left.collect()]
    return None if len(files) > most else files
