"""Classifies blocks inside Spark's executors, for metadata that is too large for one machine ([M])."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pruning.expressions.trees import Expression
from pruning.rules.program.operations import Program
from pruning.verdicts.classification import beyond_bounds, classify_blocks, compile_predicate

# So many blocks take a task longer than its start does, and still pass through the gateway as one value.
SLICE_BLOCKS = 65_536

_VERDICTS = "file string, row_group int, verdict tinyint"


@dataclass(frozen=True, slots=True)
class _SliceClassifier:
    """A function that classifies slices of metadata, which arrive as Arrow streams."""

    program: Program

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            verdicts = [self._verdict_bytes(stream) for stream in batch["blocks"].to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [batch["ordinal"], pa.array(verdicts, pa.binary())], ["ordinal", "verdicts"]
            )

    def _verdict_bytes(self, stream: bytes) -> bytes:
        with pa.ipc.open_stream(stream) as reader:
            verdicts = classify_blocks(self.program, reader.read_all())
        return bytes(verdicts.to_numpy().tobytes())


@dataclass(frozen=True, slots=True)
class _RowClassifier:
    """A function that classifies rows of a metadata table that Spark holds."""

    program: Program
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            metadata = pa.Table.from_batches([batch]).cast(self.schema)
            verdicts = classify_blocks(self.program, metadata)
            yield pa.RecordBatch.from_arrays(
                [batch["file"], batch["row_group"], verdicts], ["file", "row_group", "verdict"]
            )


def classify_in_executors(predicate: Expression, metadata: pa.Table, spark: SparkSession) -> pa.Int8Array:
    """Return the verdict on each block, as `classify_blocks` does, computed by Spark's tasks.

    Each slice carries its ordinal, so that the verdicts are returned in the metadata's order.
    """
    slices = [
        (ordinal, _arrow_stream(metadata.slice(start, SLICE_BLOCKS)))
        for ordinal, start in enumerate(range(0, metadata.num_rows, SLICE_BLOCKS))
    ]
    if not slices:
        return pa.array([], pa.int8())
    rows = spark.createDataFrame(slices, "ordinal int, blocks binary").repartition(len(slices))
    program = compile_predicate(predicate, beyond=beyond_bounds(metadata))
    done = rows.mapInArrow(_SliceClassifier(program), "ordinal int, verdicts binary").collect()
    packed = b"".join(bytes(row.verdicts) for row in sorted(done, key=lambda row: row.ordinal))
    return pa.Array.from_buffers(pa.int8(), len(packed), [None, pa.py_buffer(packed)])


def classify_frame(predicate: Expression, metadata: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return the verdict on each block of a metadata table that Spark holds: file, row_group, verdict.

    Args:
        metadata: A table of the columns of `schema`, in any order of rows.
        schema: The metadata's Arrow schema, as `pruning.metadata.table.schema.block_schema` makes it.
    """
    program = compile_predicate(predicate, beyond=beyond_bounds(schema.empty_table()))
    named = metadata.select(*schema.names)
    return named.mapInArrow(_RowClassifier(program, schema), _VERDICTS)


def _arrow_stream(metadata: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, metadata.schema) as writer:
        writer.write_table(metadata)
    return sink.getvalue()
