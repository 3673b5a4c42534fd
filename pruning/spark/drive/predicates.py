"""Classifies blocks by a predicate in SQL, which Spark parses and types."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from pruning.arguments import LEVELS, check_option, check_text
from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.expressions.traversal import leaf_names
from pruning.expressions.trees import Expression, Literal, Opaque
from pruning.expressions.types import BOOLEAN, Type
from pruning.metadata.files.listing import Paths
from pruning.metadata.files.locations import is_on_local_disk
from pruning.metadata.footers.other_columns import SparkType, other_columns_of
from pruning.metadata.store.collecting import ColumnChoice, all_columns, block_metadata
from pruning.metadata.table.schema import column_types
from pruning.spark.drive.executors import classify_frame, frame_column_types
from pruning.spark.drive.filter_technique import CatalystPredicate, catalyst_predicate, filter_verdicts
from pruning.spark.drive.named_columns import named_columns
from pruning.spark.jvm.gateway import Java, elements, simple_name
from pruning.spark.lake.directories import with_directory_columns
from pruning.spark.lake.hadoop_files import HadoopFiles
from pruning.spark.lake.nested import row_type
from pruning.verdicts.page_verdicts import classify_rows

PREDICATE_SHOWN = 200
COLUMNS_SHOWN = 50
_CHOSEN: ContextVar[SparkSession | None] = ContextVar("session of predicates", default=None)
_ALIASES = frozenset({"Alias", "MultiAlias"})


def classify(
    predicate: str, where: pa.Table | Paths | DataFrame, *, level: str = "row_group"
) -> pa.Int8Array | pa.Table | DataFrame:
    """Classify blocks by what their metadata proves of a predicate.

    Args:
        predicate: A condition in Spark SQL, as after WHERE, over the columns' exact names; it has no alias.
        where: One or more Parquet files or directories, whose partition columns (`day=2024-01-01`) the
            predicate may name, and of which the session lists and reads what Arrow cannot; of what is kept,
            only the columns that the predicate names are read. Or block metadata
            from `collect`, which knows no partition columns. Columns
            without bounds, such as maps, may be named too, but decide nothing. Or a DataFrame of such block
            metadata, for example over Parquet files of it, which is then classified where it is, in Spark's
            tasks ([M] 5.1), by bounds and counts alone.
        level: "row_group" for a verdict on each block. With "page", which needs paths, row groups that stay
            undecided are divided by the page indexes of the columns that the predicate names; one without
            page indexes is left whole.
    Returns:
        int8 of shape (blocks,), in the metadata's order: 0 NONE, the predicate is TRUE on no row; 1 SOME,
        unknown; 2 ALL, it is TRUE on every row. A block without rows is NONE. For a DataFrame, a DataFrame
        of the columns file, row_group and verdict. By pages, a table of file, row_group, row_offset (of the
        first row, inside the file), row_count and verdict: a row per longest run of rows in a row group that
        have one verdict. A row group without rows has none.
    Raises:
        InputError: the predicate cannot be read, names a column that is not there, or has an alias;
            `where` is neither paths nor block metadata; or a footer cannot be read. Of a DataFrame of
            Spark Connect, too. `level` is neither of the two, or "page" with something else than paths.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> pruning.classify("x > 2", folder.name).to_pylist()
        [0, 2]
        >>> file, pages = f"{folder.name}/t.parquet", {"data_page_size": 1, "write_batch_size": 3}
        >>> pq.write_table(pa.table({"x": [1, 2, 3, 7, 8, 9]}), file, write_page_index=True, **pages)
        >>> runs = pruning.classify("x > 5", file, level="page")
        >>> runs.select(["row_offset", "row_count", "verdict"]).to_pydict()
        {'row_offset': [0, 3], 'row_count': [3, 3], 'verdict': [0, 2]}
    """
    check_text("The predicate", predicate)
    check_option("level", level, LEVELS)
    if level == "page" and isinstance(where, pa.Table | DataFrame):
        raise InputError(
            "level is 'page', but page indexes are in files; give paths, or leave level out to classify what "
            "`pruning.collect(paths, level='page')` returns."
        )
    if isinstance(where, DataFrame):
        return _classify_frame(predicate, where)
    metadata = blocks_of(where, choose_columns=lambda: named_columns(_session(), predicate))
    spark = _session()
    try:
        catalyst = _parse_over(spark, predicate, metadata)
    except InputError:
        if isinstance(where, pa.Table):
            raise
        # The message names the columns of the files.
        metadata = blocks_of(where)
        catalyst = _parse_over(spark, predicate, metadata)

    def verdicts_of(blocks: pa.Table) -> pa.Int8Array:
        # No query runs afterwards, so no conjunct may be left undecided to save time.
        return filter_verdicts(spark, catalyst, blocks, read_seconds=None).verdicts

    if level == "page":
        return classify_rows(metadata, leaf_names(catalyst.predicate), verdicts_of)
    return verdicts_of(metadata)


def _classify_frame(predicate: str, metadata: DataFrame) -> DataFrame:
    """Return the verdicts on the blocks of a DataFrame of block metadata, as a DataFrame."""
    if not hasattr(metadata, "_jdf"):
        raise InputError(
            "A Spark Connect DataFrame cannot be classified, because its plan is on the server: "
            "use a session in this process."
        )
    types = frame_column_types(metadata)
    expression = _parse_predicate(metadata.sparkSession, predicate, row_type(types)).predicate
    return classify_frame(expression, metadata, types)


def blocks_of(where: pa.Table | Paths, *, choose_columns: ColumnChoice = all_columns) -> pa.Table:
    """Return block metadata: the table itself, or that of the files at the paths, with partition columns.

    Args:
        where: As for `classify`.
        choose_columns: Chooses the columns of the files, if these are given by paths.
    Raises:
        InputError: as `collect`.
    """
    metadata = block_metadata(where, session=_session_files(where), choose_columns=choose_columns)
    return metadata if isinstance(where, pa.Table) else with_directory_columns(_session(), metadata, where)


def _session_files(where: Any) -> HadoopFiles | None:
    """Return the session's files if a path is not local; else a wrong path is told before Spark starts."""
    paths = where if isinstance(where, Collection) and not isinstance(where, str) else [where]
    local = all(is_on_local_disk(path) for path in paths if isinstance(path, str))
    return None if local else HadoopFiles(_session())


def parse(
    predicate: str, columns: Mapping[str, Type], others: Mapping[str, SparkType] | None = None
) -> Expression:
    """Return a predicate as Spark understands it over a table of `columns`, and of `others` without bounds.

    Spark's optimizer may have simplified it to another form that is TRUE on the same rows.

    Raises:
        InputError: Spark cannot read it, or it is not deterministic.
    """
    return _parse_predicate(_session(), predicate, row_type(columns, others)).predicate


def _parse_over(spark: SparkSession, predicate: str, metadata: pa.Table) -> CatalystPredicate:
    """Return a predicate as Spark understands it over the columns of block metadata."""
    columns = row_type(column_types(metadata), other_columns_of(metadata.schema))
    return _parse_predicate(spark, predicate, columns)


def _parse_predicate(spark: SparkSession, predicate: str, columns: SparkType) -> CatalystPredicate:
    check_text("The predicate", predicate)
    plan = _filter_plan(spark, predicate, columns)
    if not plan.deterministic():
        raise InputError(
            f"The predicate {predicate!r} is not deterministic: leave out functions such as rand()."
        )
    return _predicate_of_plan(spark, plan, predicate)


def _filter_plan(spark: SparkSession, predicate: str, columns: SparkType) -> Java:
    try:
        # Spark's parser accepts `a = 1 AS b` as an expression, and WHERE ignores the alias.
        parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(predicate)
        if simple_name(parsed) in _ALIASES:
            raise InputError(f"The predicate {predicate[:PREDICATE_SHOWN]!r} has an alias; leave it out.")
        # The optimizer does not know that these rows are none, so it does not fold the filter away.
        rows = _empty_frame(spark, columns)
        return rows.filter(predicate)._jdf.queryExecution().optimizedPlan()
    except PySparkException as error:
        raise _input_error(error, predicate, columns) from error
    except Py4JJavaError as error:
        # Spark's parser and analyser are recursive, and a few hundred levels exhaust Java's stack.
        raise InputError(
            f"The predicate {predicate[:PREDICATE_SHOWN]!r} cannot be used: Spark fails on it with "
            f"{error.java_exception.getClass().getName()}; write it with fewer nested calls."
        ) from error


def _empty_frame(spark: SparkSession, columns: SparkType) -> DataFrame:
    """Return a DataFrame of a type without rows, which Spark does not know to be empty."""
    java = spark._jsparkSession
    type_ = java.parseDataType(json.dumps(columns))
    return DataFrame(java.createDataFrame(spark.sparkContext._jsc.emptyRDD(), type_), spark)


def _input_error(error: PySparkException, predicate: str, columns: SparkType) -> InputError:
    if isinstance(error, AnalysisException) and (_condition(error)).startswith("UNRESOLVED_COLUMN"):
        name = (error.getMessageParameters() or {}).get("objectName", "")
        names = [quoted_name(field["name"]) for field in columns["fields"]]
        there = ", ".join(names[:COLUMNS_SHOWN]) + (", ..." if len(names) > COLUMNS_SHOWN else "")
        return InputError(
            f"The predicate {predicate!r} names the column {name}, but the columns are {there}."
        )
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return InputError(
        f"The predicate {predicate[:PREDICATE_SHOWN]!r} cannot be used: {first[:PREDICATE_SHOWN]}"
    )


def _condition(error: AnalysisException) -> str:
    """Return the name of Spark's error condition; its getter was renamed in Spark 4."""
    name = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return name or ""


def _predicate_of_plan(spark: SparkSession, plan: Java, predicate: str) -> CatalystPredicate:
    kind = simple_name(plan)
    if kind == "LogicalRDD":
        return CatalystPredicate(predicate=Literal(True, BOOLEAN))
    if kind in ("LocalRelation", "EmptyRelation"):
        return CatalystPredicate(predicate=Literal(False, BOOLEAN))
    if kind != "Filter" or simple_name(plan.child()) != "LogicalRDD":
        # Spark has turned a subquery of the predicate into a join.
        return CatalystPredicate(predicate=Opaque(predicate, BOOLEAN))
    names = {column.exprId().id(): column.name() for column in elements(plan.output())}
    return catalyst_predicate(spark, [plan.condition()], names)


@contextmanager
def parsed_by(spark: SparkSession) -> Iterator[None]:
    """Run a `with` block in which predicates mean what they mean in a session, whichever is active.

    Args:
        spark: The session, whose time zone, dialect and letter case count.
    """
    token = _CHOSEN.set(spark)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def _session() -> SparkSession:
    """Return the session of `parsed_by`, else the active one, or start a small local one.

    Raises:
        InputError: Spark cannot start, or the session is of Spark Connect.
    """
    session: Any = _CHOSEN.get() or SparkSession.getActiveSession()
    if session is None:
        try:
            builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
            session = builder.getOrCreate()
        except (PySparkException, RuntimeError, OSError) as error:
            raise InputError(
                "Spark could not start to read the predicate: install Java 17 or 21 and set JAVA_HOME to it."
            ) from error
    if not hasattr(session, "_jvm") or type(session).__module__.startswith("pyspark.sql.connect"):
        raise InputError(
            "A Spark Connect session cannot type a predicate here: use a session in this process."
        )
    return session
