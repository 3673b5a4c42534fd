"""Some row groups of files, in place of the whole files that a leaf of a plan reads.

Filters that are pushed skip row groups only where values of single columns tell them from those that are
needed. Here they are named: a file is read as pieces, each of which holds some of its row groups, by Spark's
own reader, which skips inside them by filters as before. A row group may also have a filter of its own.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.gateway import Java, dataframe, elements, jvm, simple_name, singleton
from pruning.spark.lake.columns_read import bytes_read
from pruning.spark.lake.leaf_copies import with_relation
from pruning.spark.lake.parquet_leaves import ROW_GROUP_INDEX, has_named_row_groups, is_parquet_leaf

# A value that is neither empty nor 0 switches off that row groups are named.
WHOLE_FILES_VARIABLE = "SKIPPROOF_WHOLE_FILES"
# Each task of Spark reads the list of all pieces, about 100 bytes for each.
PIECES_MAX = 2_000
# Each filter takes a few ms, and a broadcast of the configuration.
FILTERS_MAX = 32
_PIECES = "RowGroupPieces"
_STRATEGY = "org.apache.spark.sql.execution.datasources.DataSourceStrategy"
# Floating types, as a type's JSON writes them.
_FLOATS = ('"float"', '"double"')
# Filters that rows of a file of milliseconds may fail once Spark has rounded their constants down.
_ROUNDED = ("LessThan(", "Not(")
_SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Row groups of files that are read alike.

    Attributes:
        ordinals: The places of row groups in their files, by the names of these as the leaf lists them.
        condition: A predicate in Spark SQL over the leaf's columns that is TRUE on all rows that are needed
            of these row groups; None is no condition.
    """

    ordinals: Mapping[str, Sequence[int]]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupLeaf:
    """A leaf that reads some row groups.

    Attributes:
        leaf: The leaf of a plan.
        pieces: The number of pieces of files that Spark reads.
        spared_bytes: The compressed bytes, of the columns that are read, in row groups that are not read.
    """

    leaf: Java
    pieces: int
    spared_bytes: int


def with_row_groups(
    spark: SparkSession,
    leaf: Java,
    parts: Sequence[RowGroups],
    *,
    columns: Collection[str] | None = None,
    open_bytes: int | None = None,
) -> RowGroupLeaf | None:
    """Return a leaf that reads only some row groups of some of its files; None where it must stay as it is.

    The footers of the files that are named are read once. A file is read whole if it is not named, or if its
    row groups do not follow each other as Parquet's reader needs it. Columns, expression ids, partition
    values, options, pushed filters and the column `_metadata` are those of the leaf.

    Claim     Each needed row is read once, and no row twice.
    Premises  `parts` has every row group with a needed row of each file that it names, and conditions are
              TRUE on these rows. A file does not change. Parquet's reader takes a row group exactly if the
              middle of its bytes is in the range, whose place the footer alone tells.
    Proof     (1) Parquet's own reader was asked which row groups it takes of each piece: those that begin
              in it, and each needed one begins in a piece.
              (2) Pieces of a file are disjoint, so that no middle is in two.
              (3) A piece is read by the reader that Spark has for it, or by none: then the query fails.
              (4) A condition only leaves out row groups and pages in which it is TRUE nowhere, by their
              bounds. It is pushed only if all of its columns are read: Parquet's reader takes others for
              NULL. None is pushed on floating types, since bounds do not hold NaN, and no `<` on
              timestamps, whose constants Spark rounds down for a file of milliseconds.
    Unsound   if a file is written anew between planning and reading: other row groups may be in its pieces.

    Args:
        spark: The session.
        leaf: A Parquet leaf of a plan, as `pruning.spark.lake.leaf_copies.with_files` returns it.
        parts: The row groups. A row group is in one part only.
        columns: The top-level columns that the query reads, whose bytes count; None is all.
        open_bytes: Row groups between others are left out if they have so many bytes; None is what the
            session says that opening a file costs.
    """
    if not is_parquet_leaf(leaf) or has_named_row_groups(leaf) or not is_switched_on():
        return None
    if not any(part.ordinals for part in parts) or len(parts) > FILTERS_MAX:
        return None
    relation = leaf.relation()
    # Every file is at least one piece, also if it is read whole.
    if len(relation.location().inputFiles()) > PIECES_MAX:
        return None
    try:
        own_filters = [_source_filter(spark, leaf, part.condition) for part in parts]
        # The first reader has no filter; files that are not named are read by it, too.
        filters = [None, *(filter_ for filter_ in own_filters if filter_ is not None)]
        numbers = [0 if filter_ is None else filters.index(filter_) for filter_ in own_filters]
        pieces = _pieces(spark, relation, list(zip(numbers, parts, strict=True)), columns, open_bytes)
        if not 0 < pieces.count() <= PIECES_MAX or not (pieces.spared() or len(filters) > 1):
            return None
        index = java_instance(spark, ROW_GROUP_INDEX).of(
            relation.location(), pieces.pieces(), pieces.groups(), len(filters) > 1
        )
        readers = jvm(spark).java.util.ArrayList()
        for filter_ in filters:
            readers.add(filter_)
        ranged = with_relation(spark, leaf, index, file_format=index.format(readers))
    except (Py4JError, PySparkException):
        # This release of Spark has other classes than those that are known, so its files are read whole.
        return None
    return RowGroupLeaf(leaf=ranged, pieces=pieces.count(), spared_bytes=pieces.spared())


def is_switched_on() -> bool:
    """Tell whether row groups may be named, which an environment variable switches off."""
    return os.environ.get(WHOLE_FILES_VARIABLE, "0") in ("", "0")


def open_cost(spark: SparkSession) -> int:
    """Return the bytes that could be read while a file is opened, as the session estimates them."""
    return int(spark._jsparkSession.sessionState().conf().filesOpenCostInBytes())


def worthwhile_row_groups(
    row_groups: pa.Table,
    keep: np.ndarray,
    columns: frozenset[str] | None,
    open_bytes: int,
    *,
    skipped: np.ndarray | None = None,
) -> dict[str, list[int]]:
    """Return the kept row groups of the files where naming them spares as much as opening the files costs.

    Args:
        row_groups: The block metadata of the files that are read; not of pages.
        keep: True for those that may hold a needed row; shape (row groups,).
        columns: The top-level columns that the query reads; None is all.
        open_bytes: The bytes that could be read while a file is opened.
        skipped: True for those that Spark skips by filters anyway; shape (row groups,). None is no such.
    """
    is_spared = ~keep if skipped is None else ~(keep | skipped)
    sizes = np.where(is_spared, bytes_read(row_groups, columns), 0)
    table = pa.table({"file": row_groups["file"], "spared": sizes, "ordinal": row_groups["row_group"]})
    spared = table.group_by("file").aggregate([("spared", "sum")])
    files = spared.filter(pc.greater_equal(spared["spared_sum"], max(1, open_bytes)))["file"]
    chosen = table.filter(pc.and_(pa.array(keep), pc.is_in(table["file"], value_set=files.combine_chunks())))
    lists: dict[str, list[int]] = {}
    for file, ordinal in zip(chosen["file"].to_pylist(), chosen["ordinal"].to_pylist(), strict=True):
        lists.setdefault(file, []).append(ordinal)
    return lists


def _pieces(
    spark: SparkSession,
    relation: Java,
    parts: Sequence[tuple[int, RowGroups]],
    columns: Collection[str] | None,
    open_bytes: int | None,
) -> Java:
    """Return the pieces of files, on Java's side.

    Args:
        spark: The session.
        relation: The relation that has the files.
        parts: The row groups, and the numbers of the readers that read them.
        columns: As for `with_row_groups`.
        open_bytes: As for `with_row_groups`.
    """
    lists = [
        (file, ",".join(map(str, ordinals)), number)
        for number, part in parts
        for file, ordinals in part.ordinals.items()
    ]
    state = relation.sparkSession().sessionState()
    return java_instance(spark, _PIECES).of(
        relation.location(),
        state.newHadoopConfWithOptions(relation.options()),
        _SEPARATOR.join(file for file, _, _ in lists),
        _SEPARATOR.join(ordinals for _, ordinals, _ in lists),
        ",".join(str(number) for _, _, number in lists),
        None if columns is None else _SEPARATOR.join(columns),
        open_cost(spark) if open_bytes is None else open_bytes,
        state.conf().filesMaxPartitionBytes(),
        spark.sparkContext.defaultParallelism,
    )


def _source_filter(spark: SparkSession, leaf: Java, condition: str | None) -> Java | None:
    """Return a predicate as Spark gives it to its readers; None where it cannot."""
    if condition is None:
        return None
    try:
        plan = dataframe(spark, leaf).where(condition)._jdf.queryExecution().optimizedPlan()
    except PySparkException:
        # Names that differ only in case are ambiguous in SQL, although a plan itself resolves them by id.
        return None
    if simple_name(plan) != "Filter":
        return None
    filter_ = singleton(spark, _STRATEGY).translateFilter(plan.condition(), True)
    if not filter_.isDefined() or _may_lose_rows(plan.condition(), filter_.get().toString()):
        return None
    return filter_.get()


def _may_lose_rows(condition: Java, pushed: str) -> bool:
    """Tell whether Parquet's reader may lose rows on which a condition is TRUE, by what is pushed of it."""
    types = [column.dataType().json() for column in elements(condition.references().toSeq())]
    if any(name in type_ for type_ in types for name in _FLOATS):
        return True
    has_times = any("timestamp" in type_ for type_ in types)
    return has_times and any(name in pushed for name in _ROUNDED)
