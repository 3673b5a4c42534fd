"""Tables of Iceberg in a plan, with the files that Iceberg plans for all scans of a leaf."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.names import top_column
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression
from pruning.expressions.types import Type
from pruning.metadata.iceberg.blocks import iceberg_blocks
from pruning.metadata.iceberg.fields import IcebergField, fields_of_schema
from pruning.metadata.iceberg.planned_files import PlannedFiles, read_facts
from pruning.metadata.iceberg.remembered import BoundedMemory
from pruning.spark.iceberg.entries import files_left
from pruning.spark.iceberg.java_side import FACTS, JAVA_ERRORS, java_side, reason_of
from pruning.spark.iceberg.leaves import staged_leaf
from pruning.spark.jvm.gateway import Java, decode_answer, jvm
from pruning.spark.lake.tables import Attribute, Unprunable


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafReader:
    """One scan of a leaf in the optimized plan.

    Attributes:
        node: The stand-in.
        conditions: The conditions of Catalyst that all its needed rows satisfy.
        columns: The top-level columns whose metadata is wanted.
        predicate: Gives the conjunction of the conditions.
    """

    node: Java
    conditions: tuple[Java, ...]
    columns: frozenset[str]
    predicate: Callable[[], Expression]


# The most files whose facts are remembered; in Java, those of a file take a kilobyte or two.
REMEMBERED_FILES_MAX = 50_000
# Of more files than this, Spark's tasks leave out those that the filters exclude.
PLANNED_FILES_MAX = 50_000
# The most files that the driver plans.
LEFT_FILES_MAX = 200_000


@dataclass(frozen=True, kw_only=True)
class Planned:
    """The files that Iceberg has planned by one filter at one snapshot.

    Attributes:
        java: The planned files on the Java side.
        facts: The facts about them.
        fields: The fields whose metadata is known, by their names in block metadata.
        left: The files that Spark's tasks have left of the snapshot; None if they were not asked.
    """

    java: Java
    facts: PlannedFiles
    fields: Mapping[str, IcebergField]
    left: "LeftFiles | None" = None

    @cached_property
    def blocks(self) -> pa.Table:
        """The block metadata of the planned files, a block for each."""
        return iceberg_blocks(self.facts, self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftFiles:
    """The files of a snapshot that Spark's tasks have left, before Iceberg planned them.

    Attributes:
        count: The number of files.
        predicate: The predicate by which the others were left out, as SQL.
    """

    count: int
    predicate: str


# None stands for more files than are planned at once.
_REMEMBERED: BoundedMemory[Planned | None] = BoundedMemory(REMEMBERED_FILES_MAX)


@dataclass(frozen=True, kw_only=True)
class IcebergTable:
    """A table of Iceberg at one snapshot, and the files that Iceberg plans for the query.

    Attributes:
        leaf: The stand-in in the optimized plan.
        roots: The table's name.
        fields: The fields whose metadata is known, by their names in block metadata.
        planned: The facts about the planned files.
        metadata: The block metadata of the planned files, a block for each.
        java: The planned files on the Java side.
        filter: The filter by which Iceberg has planned.
        left: As in `Planned`.
    """

    leaf: Java
    roots: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    fields: Mapping[str, IcebergField]
    planned: PlannedFiles
    metadata: pa.Table
    java: Java
    filter: str
    snapshot_id: int | None
    left: LeftFiles | None
    # Iceberg gives all columns, whether they are in the files or not.
    partition_columns: Mapping[str, Type] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The locations of the planned files."""
        return self.planned.files

    @property
    def data_columns(self) -> dict[str, Type]:
        """The table's columns, by name."""
        return {attribute.name: attribute.type for attribute in self.attributes}

    def with_files(self, spark: SparkSession, files: Sequence[str], leaf: Java | None = None) -> Java:
        """Return a leaf that reads some of the files, in place of a leaf; of none, the leaf itself.

        Args:
            spark: The session.
            files: Some of the planned files.
            leaf: The leaf of the analyzed plan; None is the stand-in.
        Raises:
            Unprunable: Iceberg could not stage the files.
        """
        node = self.leaf if leaf is None else leaf
        if not files:
            return node
        wanted = set(files)
        places = [place for place, file in enumerate(self.files) if file in wanted]
        try:
            return staged_leaf(spark, node, self.java, places)
        except JAVA_ERRORS as error:
            raise Unprunable(f"Iceberg could not stage the files ({reason_of(error)})") from error


def plan_iceberg_table(
    spark: SparkSession, readers: Sequence[LeafReader], attributes: tuple[Attribute, ...]
) -> IcebergTable:
    """Return the table that one leaf of a query reads, with the files that some scan of the leaf may need.

    What Iceberg has planned is remembered: metadata of a table and its snapshots never change.

    Args:
        spark: The session.
        readers: All scans of the leaf, at least one.
        attributes: The leaf's columns.
    Raises:
        Unprunable: Iceberg cannot plan its files, or plans one twice.
    """
    relation = readers[0].node.relation()
    pinned = relation.table()
    try:
        wanted = frozenset[str]().union(*(reader.columns for reader in readers))
        all_fields = fields_of_schema(pinned.schemaJson())
        fields = {name: column for name, column in all_fields.items() if top_column(name) in wanted}
        lists = jvm(spark).java.util
        conditions, outputs = lists.ArrayList(), lists.ArrayList()
        for reader in readers:
            of_reader = lists.ArrayList()
            for condition in reader.conditions:
                of_reader.add(condition)
            conditions.add(of_reader)
            outputs.add(reader.node.outputSet())
        ids = ",".join(str(column.id) for column in fields.values())
        planning = pinned.planning(spark._jsparkSession, conditions, outputs, ids)
        snapshot = pinned.snapshot()
        predicates = [reader.predicate for reader in readers]
        planned = _plan_or_remember(
            spark, pinned, planning, _Wanted(fields=fields, ids=ids, predicates=predicates)
        )
        java, filter_ = planned.java.of(planning), str(planning.filterText())
        snapshot_id = None if snapshot is None else int(snapshot.snapshotId())
    except JAVA_ERRORS as error:
        raise Unprunable(f"Iceberg could not plan its files ({reason_of(error)})") from error
    return IcebergTable(
        leaf=readers[0].node,
        roots=(str(relation.name()),),
        attributes=attributes,
        fields=fields,
        planned=planned.facts,
        metadata=planned.blocks,
        java=java,
        filter=filter_,
        snapshot_id=snapshot_id,
        left=planned.left,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The facts about files that a planning is asked for.

    Attributes:
        fields: The fields whose metadata is wanted, by their names in block metadata.
        ids: Their ids, joined by commas.
        predicates: Each gives the predicate of one scan.
    """

    fields: Mapping[str, IcebergField]
    ids: str
    predicates: Sequence[Callable[[], Expression]]


def _plan_or_remember(spark: SparkSession, pinned: Java, planning: Java, wanted: _Wanted) -> Planned:
    """Return the files of a planning, as Iceberg plans them now or has planned them before."""

    def with_facts(java: Java, left: LeftFiles | None) -> Planned:
        tasks, table, snapshot = java.tasks(), pinned.table(), pinned.snapshot()
        facts = java_side(spark, FACTS, pinned).facts(tasks, table, snapshot, wanted.ids)
        return Planned(java=java, facts=read_facts(decode_answer(facts)), fields=wanted.fields, left=left)

    def plan() -> Planned | None:
        java = planning.plan(PLANNED_FILES_MAX)
        return None if java is None else with_facts(java, None)

    def plan_in_tasks(predicates: Sequence[Expression]) -> Planned:
        files = files_left(spark, planning, wanted.fields, predicates, LEFT_FILES_MAX)
        if files is None:
            raise Unprunable(
                f"of its {int(planning.totalFiles()):,} files, the filters leave more than "
                f"{LEFT_FILES_MAX:,}, the most that are planned"
            )
        left = LeftFiles(count=len(files), predicate=" OR ".join(map(to_sql, predicates)))
        return with_facts(planning.planOnly("\0".join(files)), left)

    key = planning.key()
    in_process = (spark.sparkContext._gateway._gateway_client, str(key))
    planned = plan() if key is None else _REMEMBERED.content(in_process, _size, plan)
    if planned is not None:
        return planned
    predicates = tuple(dict.fromkeys(predicate() for predicate in wanted.predicates))
    if key is None:
        return plan_in_tasks(predicates)
    narrowed = _REMEMBERED.content(
        _key_in_tasks(in_process, predicates), _size, lambda: plan_in_tasks(predicates)
    )
    assert narrowed is not None
    return narrowed


def _key_in_tasks(in_process: Hashable, predicates: Sequence[Expression]) -> Hashable:
    """Return the key of a planning whose files were left by some predicates."""
    return in_process, predicates


def _size(planned: Planned | None) -> int:
    return 1 if planned is None else max(1, len(planned.facts.files))
