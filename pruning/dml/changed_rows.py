"""The rows that a statement changes in a version of a table, and the new files that Spark writes of them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyroaring import BitMap
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import bit_or, col, expr, shiftright
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from pruning.expressions.names import quoted_name
from pruning.metadata.files.locations import is_uri, locate, to_uri
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.versioned.table_version import DeletedRows, TableVersion
from pruning.spark.versioned.frames import version_frame
from pruning.spark.versioned.layouts import hadoop_path
from pruning.spark.versioned.schemas import field_json

# The columns that tell the place of a row: that of its file among the version's, and its own in the file. No
# column of a table has such a name.
PLACE, POSITION = "`place", "`position"
# The column that numbers the groups of rows that are written to files of their own.
GROUP = "skipproof-group"
_FILE = re.compile(rf".*/{GROUP}=(\d+)/[^/]*\.parquet")
_WITHOUT_MARKER = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A Parquet file that Spark has written.

    Attributes:
        path: Its path or URI.
        group: The number of the group whose rows it has.
        row_count: Their number.
    """

    path: str
    group: int
    row_count: int


@dataclass(frozen=True)
class _DeletedRowsOfPart:
    """The deleted rows of some of a version's files, and the rows that leave these by a statement."""

    whole: DeletedRows
    places: np.ndarray
    leaving: Mapping[int, BitMap]

    @property
    def mask(self) -> Mask:
        mask: Mask = self.whole.mask[self.places] | np.isin(self.places, list(self.leaving))
        return mask

    def positions(self, places: Sequence[int]) -> list[BitMap]:
        chosen = self.places[list(places)].tolist()
        deleted = self.whole.positions(chosen)
        return [rows | self.leaving.get(place, BitMap()) for place, rows in zip(chosen, deleted, strict=True)]


def column(name: str) -> Column:
    """Return a column by its exact name."""
    return col(quoted_name(name))


def rows_at(
    spark: SparkSession,
    version: TableVersion,
    places: Sequence[int],
    *,
    leaving: Mapping[int, BitMap] | None = None,
) -> DataFrame:
    """Return the live rows of some files, with the table's columns and then `PLACE` and `POSITION`.

    Args:
        spark: The session.
        version: The version.
        places: The places of the files among the version's.
        leaving: The positions of rows to leave out, by the places of their files.
    """
    if not places:
        fields = StructType.fromJson(json.loads(version.schema)).fields
        numbers = [StructField(PLACE, IntegerType()), StructField(POSITION, LongType())]
        return spark.createDataFrame([], StructType([*fields, *numbers]))
    chosen = np.array(places)
    layouts = version.files.layouts[chosen]
    frames = [
        _rows_of_part(spark, version, chosen[layouts == layout], leaving or {})
        for layout in np.unique(layouts)
    ]
    united = frames[0]
    for frame in frames[1:]:
        united = united.union(frame)
    return united


def _rows_of_part(
    spark: SparkSession, version: TableVersion, places: np.ndarray, leaving: Mapping[int, BitMap]
) -> DataFrame:
    """Return the rows of files with one layout, since Spark loses positions in unions of several."""
    files = version.files
    schema = json.loads(version.schema)
    schema["fields"].append(field_json(PLACE, "integer"))
    values = {name: files.partition_values[name].take(pa.array(places)) for name in version.partition_columns}
    part = replace(
        version,
        schema=json.dumps(schema),
        partition_columns=(*version.partition_columns, PLACE),
        files=replace(
            files,
            paths=tuple(files.paths[place] for place in places.tolist()),
            byte_counts=files.byte_counts[places],
            modified_ms=files.modified_ms[places],
            layouts=files.layouts[places],
            partition_values=pa.table({**values, PLACE: pa.array(places, pa.int32())}),
            sequence_numbers=files.sequence_numbers[places],
            partition_ids=files.partition_ids[places],
        ),
        deleted_rows=_DeletedRowsOfPart(version.deleted_rows, places, leaving),
    )
    frame = version_frame(spark, part, position=POSITION)
    if frame.columns[-1] == POSITION:
        return frame
    return frame.select(*map(column, frame.columns), col("_metadata.row_index").alias(POSITION))


def positions_by_place(rows: DataFrame) -> dict[int, BitMap]:
    """Return the positions of rows by the places of their files.

    Args:
        rows: Rows with `PLACE` and `POSITION`, which may repeat.
    """
    # A long for 64 rows keeps small what many rows of a file bring to this process.
    bit = expr(f"shiftleft(1L, CAST({quoted_name(POSITION)} & 63 AS INT))")
    words = rows.select(column(PLACE), shiftright(column(POSITION), 6).alias("word"), bit.alias("bit"))
    united = words.groupBy(column(PLACE), column("word")).agg(bit_or(column("bit")))
    positions: dict[int, BitMap] = {}
    for batch in united._collect_as_arrow():
        places, words_of_files, masks = (lanes.to_numpy() for lanes in batch.columns)
        bits = np.unpackbits(masks.astype("<i8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        of_word, offsets = np.nonzero(bits)
        in_files = (64 * words_of_files[of_word] + offsets).astype(np.uint32)
        for place in np.unique(places).tolist():
            bitmap = BitMap(in_files[places[of_word] == place])
            positions[place] = positions.get(place, BitMap()) | bitmap
    return positions


def write_rows(rows: DataFrame, fields: str, directory: str, *, compression: str | None) -> list[WrittenFile]:
    """Write rows to Parquet files, one or more for each group, in the order of `PLACE` and `POSITION`.

    Args:
        rows: The columns that `fields` describes, in its order and by the table's names; then `PLACE`,
            `POSITION` and `GROUP`.
        fields: The columns in the files, a `StructType` of Spark as JSON.
        directory: The path or URI of a directory that is not there yet.
        compression: The codec by its name in Spark; None is the session's.
    Raises:
        PySparkException: Spark could not write the files, or compute the rows.
    """
    target = StructType.fromJson(json.loads(fields)).fields
    names = [f"`{number}" for number in range(len(target))]
    numbered = rows.toDF(*names, PLACE, POSITION, GROUP)
    columns = [
        column(name).cast(field.dataType).alias(field.name, metadata=field.metadata)
        for name, field in zip(names, target, strict=True)
    ]
    placed = numbered.repartition(column(GROUP)).sortWithinPartitions(
        column(GROUP), column(PLACE), column(POSITION)
    )
    writer = placed.select(*columns, column(GROUP)).write
    writer = writer.options(**_WITHOUT_MARKER).partitionBy(GROUP)
    writer.parquet(hadoop_path(directory), compression=compression)
    system, root = locate(to_uri(directory) if is_uri(directory) else directory)
    selector = fs.FileSelector(root, recursive=True)
    matches = [_FILE.fullmatch(info.path) for info in system.get_file_info(selector)]
    return [
        WrittenFile(
            path=f"{directory}{match[0][len(root) :]}",
            group=int(match[1]),
            row_count=pq.read_metadata(match[0], filesystem=system).num_rows,
        )
        for match in matches
        if match is not None
    ]
