"""The computation of each operator of the algebra in Spark: from rows with ids to rows with ids.

Rows and ids are those of `bags.operators`. Rows of both ends of an interval are computed together: each end
is its own group, partition and side of a join.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dynamic_tables.bags import operators as bag_operators
from dynamic_tables.bags.operators import KEEPS_LEFT, KEEPS_RIGHT
from dynamic_tables.maintenance.algebra import (
    Aggregate,
    ConstantRows,
    Distinct,
    Explode,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
)
from dynamic_tables.on_spark.aggregate_columns import aggregate_columns
from dynamic_tables.on_spark.frames import ROW_ID, RowFrame, cell, cell_name, frame_of, union_of
from dynamic_tables.on_spark.keys import canonical_column, comparable_column, key_id
from dynamic_tables.on_spark.native_expressions import lower_expression, native_column
from dynamic_tables.on_spark.python_functions import Elements, Windows, evaluated_in_python
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.types import Field, Type

# The computation of an operator: from the rows of its inputs to the rows of its result.
Kernel: TypeAlias = Callable[..., RowFrame]


def types_of(fields: Sequence[Field]) -> tuple[Type, ...]:
    """Return the types of columns."""
    return tuple(field.type for field in fields)


def scan_kernel(relation: Scan) -> Kernel:
    """Return the kernel of a scan: the columns that the query reads."""
    if relation.positions is None:
        return lambda rows: rows
    places = relation.positions
    return lambda rows: rows.select([cell(place) for place in places], types_of(relation.fields))


def constants_kernel(relation: ConstantRows) -> Callable[[SparkSession], RowFrame]:
    """Return the kernel of constant rows, which takes the session in place of rows."""
    contents = dict(bag_operators.constants_kernel(relation)())
    return lambda spark: frame_of(spark, contents, types_of(relation.fields))


def filter_kernel(relation: Filter) -> Kernel:
    """Return the kernel of a filter: the rows whose condition is TRUE."""
    return lambda rows: rows.with_data(rows.data.filter(lower_expression(relation.condition, rows)))


def project_kernel(relation: Project) -> Kernel:
    """Return the kernel of a projection: one computed row for each row."""

    def run(rows: RowFrame) -> RowFrame:
        cells = [lower_expression(column, rows) for column in relation.columns]
        return rows.select(cells, types_of(relation.fields))

    return run


def union_kernel(relation: UnionAll) -> Kernel:
    """Return the kernel of UNION ALL: the rows of all branches, with the branch in each id (trap 13)."""

    def run(*branches: RowFrame) -> RowFrame:
        return union_of(
            [
                rows.select(rows.cells, rows.types, F.concat(F.lit(f"u{place}:"), F.col(ROW_ID)))
                for place, rows in enumerate(branches)
            ]
        )

    return run


def explode_kernel(relation: Explode) -> Kernel:
    """Return the kernel of FLATTEN: a row per element or member, whose place is in the id (trap 38)."""
    added = [field.name for field in relation.added_columns]

    def run(rows: RowFrame) -> RowFrame:
        flattened = lower_expression(relation.elements, rows)
        elements = Elements(relation).column(Elements.TYPE, F.col("flattened"))
        explode = F.explode_outer if relation.outer else F.explode
        data = rows.data.withColumn("flattened", flattened).withColumn("elements", elements)
        exploded = RowFrame(data.withColumn("element", explode("elements")), rows.types, rows.tags)
        none, part = F.col("element.part").isNull(), F.coalesce(F.col("element.part"), F.lit("~"))
        # Of a row without elements, the path and the value are those of what has none.
        instead = {"path": F.lit(relation.prefix), "this": F.col("flattened")}
        cells = [
            F.when(none, instead[name]).otherwise(F.col(f"element.{name}"))
            if name in instead
            else F.col(f"element.{name}")
            for name in added
        ]
        return exploded.select(
            [*rows.cells, *cells],
            types_of(relation.fields),
            F.concat(F.lit("e"), part, F.lit(":"), F.col(ROW_ID)),
        )

    return run


HOW: Mapping[JoinKind, str] = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left_outer",
    JoinKind.RIGHT: "right_outer",
    JoinKind.FULL: "full_outer",
}


def join_kernel(relation: Join) -> Kernel:
    """Return the kernel of a join: matching pairs, and the unmatched rows that its kind keeps."""
    return lambda left, right: pairs_of(relation, left, right)


def pairs_of(relation: Join, left_rows: RowFrame, right_rows: RowFrame) -> RowFrame:
    """Return the result of a join."""
    left, right = sides_of_join(relation, left_rows, right_rows)
    condition = F.lit(True)
    for left_name, right_name in zip((*left.tags, *left.keys), (*right.tags, *right.keys), strict=True):
        condition = condition & (F.col(left_name) == F.col(right_name))
    types = types_of(relation.fields)
    residual = None if relation.residual is None else native_column(relation.residual)
    if relation.residual is None or residual is not None:
        condition = condition if residual is None else condition & residual
        data = left.data.join(right.data, condition, HOW[relation.kind])
    else:
        matching = left.data.join(right.data, condition, "inner")
        data = matching.filter(evaluated_in_python(relation.residual, types))
        pairs = data
        if relation.kind in KEEPS_LEFT:
            data = data.unionByName(left.without_partner(pairs), allowMissingColumns=True)
        if relation.kind in KEEPS_RIGHT:
            data = data.unionByName(right.without_partner(pairs), allowMissingColumns=True)
    tags = [F.coalesce(F.col(f"left_{tag}"), F.col(f"right_{tag}")).alias(tag) for tag in left_rows.tags]
    identity = pair_id(left.row_id, right.row_id).alias(ROW_ID)
    return RowFrame(data.select(*tags, identity, *map(cell, range(len(types)))), types, left_rows.tags)


@dataclass(frozen=True)
class Side:
    """One side of a join, with column names that the other side does not have.

    Attributes:
        row_id: The name of the column with the ids.
        tags, keys: The names of the columns that are compared with those of the other side.
    """

    data: DataFrame
    row_id: str
    tags: tuple[str, ...]
    keys: tuple[str, ...]

    def without_partner(self, pairs: DataFrame) -> DataFrame:
        """Return the rows of this side that are in none of the pairs."""
        names = {name: f"met_{name}" for name in (*self.tags, self.row_id)}
        met = pairs.select(*[F.col(name).alias(new) for name, new in names.items()])
        same = [F.col(name) == F.col(new) for name, new in names.items()]
        return self.data.join(met, same, "left_anti")


def sides_of_join(relation: Join, left: RowFrame, right: RowFrame) -> tuple[Side, Side]:
    """Return the sides of a join, whose cells have the positions that they have in the result."""
    left_types, right_types = (
        [key.type for key in keys] for keys in (relation.left_keys, relation.right_keys)
    )
    return (
        side_of_join("left", left, 0, relation.left_keys, right_types),
        side_of_join("right", right, len(left.types), relation.right_keys, left_types),
    )


def side_of_join(
    name: str, rows: RowFrame, first: int, keys: Sequence[Expression], others: Sequence[Type]
) -> Side:
    """Return one side of a join, with the columns of its keys.

    Args:
        first: The position of the first cell of this side in the result.
        others: The types of the other side's keys.
    """
    columns = [
        comparable_column(lower_expression(key, rows), key.type, other)
        for key, other in zip(keys, others, strict=True)
    ]
    tags = [F.col(tag).alias(f"{name}_{tag}") for tag in rows.tags]
    names = [f"{name}_key{place}" for place in range(len(columns))]
    data = rows.data.select(
        *tags,
        F.col(ROW_ID).alias(f"{name}_{ROW_ID}"),
        *[column.alias(key_name) for column, key_name in zip(columns, names, strict=True)],
        *[cell(place).alias(cell_name(first + place)) for place in range(len(rows.types))],
    )
    return Side(data, f"{name}_{ROW_ID}", tuple(f"{name}_{tag}" for tag in rows.tags), tuple(names))


def pair_id(left: str, right: str) -> Column:
    """Return the id of a pair or of an unmatched row; the length marks where the left id ends."""
    left_id, right_id = F.col(left), F.col(right)
    both = F.concat(F.lit("j"), F.length(left_id).cast("string"), F.lit(":"), left_id, right_id)
    return (
        F.when(right_id.isNull(), F.concat(F.lit("l:"), left_id))
        .when(left_id.isNull(), F.concat(F.lit("r:"), right_id))
        .otherwise(both)
    )


def distinct_kernel(relation: Distinct) -> Kernel:
    """Return the kernel of DISTINCT: each row once, with its content as id."""

    def run(rows: RowFrame) -> RowFrame:
        cells = [canonical_column(*pair) for pair in zip(rows.cells, rows.types, strict=True)]
        rows_once = rows.select(cells, rows.types).data.drop(ROW_ID).distinct()
        names = [cell_name(place) for place in range(len(rows.types))]
        return RowFrame(
            rows_once.withColumn(ROW_ID, key_id(names, rows.types)), rows.types, rows.tags
        ).in_order()

    return run


def group_kernel(relation: Group) -> Kernel:
    """Return the kernel of GROUP BY: one row for each key; without keys always one row (trap 39)."""
    keys = [f"k{place}" for place in range(len(relation.keys))]
    key_types = [key.type for key in relation.keys]

    def run(rows: RowFrame) -> RowFrame:
        columns = [
            canonical_column(lower_expression(key, rows), key.type).alias(name)
            for key, name in zip(relation.keys, keys, strict=True)
        ]
        arguments = [
            argument_column(aggregate, rows).alias(f"a{place}")
            for place, aggregate in enumerate(relation.aggregates)
        ]
        input_ = rows.data.select(*rows.tags, *columns, *arguments)
        aggregates = [
            aggregate_columns(aggregate, F.col(f"a{place}"), input_.schema[f"a{place}"].dataType)
            for place, aggregate in enumerate(relation.aggregates)
        ]
        names = [
            [f"p{place}_{part}" for part in range(len(aggregate.partial))]
            for place, aggregate in enumerate(aggregates)
        ]
        partial = [
            column.alias(name)
            for aggregate, parts in zip(aggregates, names, strict=True)
            for column, name in zip(aggregate.partial, parts, strict=True)
        ]
        groups = input_.groupBy(*rows.tags, *keys).agg(F.count(F.lit(1)).alias("size"), *partial)
        finished = [
            aggregate.finish(*map(F.col, parts)) for aggregate, parts in zip(aggregates, names, strict=True)
        ]
        whole = RowFrame(groups.withColumn(ROW_ID, key_id(keys, key_types)), (), rows.tags)
        return whole.select([*map(F.col, keys), *finished], types_of(relation.fields))

    return run


def argument_column(aggregate: Aggregate, rows: RowFrame) -> Column:
    """Return the argument of an aggregate, canonical if only distinct cells count; 1 for COUNT(*)."""
    if aggregate.argument is None:
        return F.lit(1)
    column = lower_expression(aggregate.argument, rows)
    canonical = aggregate.distinct or aggregate.function in ("min", "max")
    return canonical_column(column, aggregate.argument.type) if canonical else column


def window_kernel(relation: Window) -> Kernel:
    """Return the kernel of window functions: each row followed by the functions over its partition."""
    keys = [f"k{place}" for place in range(len(relation.partition))]

    def run(rows: RowFrame) -> RowFrame:
        columns = [
            canonical_column(lower_expression(key, rows), key.type).alias(name)
            for key, name in zip(relation.partition, keys, strict=True)
        ]
        member = F.struct(F.col(ROW_ID), *rows.cells).alias("member")
        partitions = rows.data.select(*rows.tags, *columns, member).groupBy(*rows.tags, *keys)
        lists = partitions.agg(F.collect_list("member").alias("members"))
        windows = Windows(relation.functions, rows.types)
        both = lists.withColumn("added", windows.column(windows.type, F.col("members")))
        exploded = both.select(*rows.tags, F.explode(F.arrays_zip("members", "added")).alias("both"))
        whole = RowFrame(
            exploded.select(*rows.tags, "both.members.*", F.col("both.added").alias("added")), (), rows.tags
        )
        added = [
            F.col(f"added.{cell_name(len(rows.types) + place)}") for place in range(len(relation.functions))
        ]
        return whole.select([*rows.cells, *added], types_of(relation.fields))

    return run


KERNELS: Mapping[type[Relation], Callable[[Any], Kernel]] = {
    Scan: scan_kernel,
    ConstantRows: constants_kernel,
    Filter: filter_kernel,
    Project: project_kernel,
    UnionAll: union_kernel,
    Join: join_kernel,
    Explode: explode_kernel,
    Distinct: distinct_kernel,
    Group: group_kernel,
    Window: window_kernel,
}
Kernels: TypeAlias = Mapping[type[Relation], Callable[[Any], Kernel]]
