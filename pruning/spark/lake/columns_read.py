"""The columns of its table that a scan reads: those that nodes above it in the plan name."""

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.names import top_column
from pruning.expressions.plans import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    inputs,
    is_filtered_scan,
    nodes,
    scans,
)
from pruning.expressions.traversal import leaf_names
from pruning.expressions.trees import Expression
from pruning.spark.jvm.gateway import Java

# The end of a printed attribute: its id, and an L for a bigint.
_ID = re.compile(r"#(\d+)L?$")
_SEPARATOR = "\0"


def columns_read(tree: Plan, javas: Mapping[Plan, Java]) -> dict[Scan, frozenset[str] | None]:
    """Return the names of the columns that each scan of an optimized plan reads; None is all of them.

    Spark's optimizer puts a projection above a scan if not every column is needed. The scan reads the columns
    that this projection and the filters below it name.
    """
    return dict(_columns_below(tree, javas, None))


def _columns_below(
    plan: Plan, javas: Mapping[Plan, Java], named: frozenset[int] | None
) -> Iterator[tuple[Scan, frozenset[str] | None]]:
    """Yield the scans below a node with their columns.

    Args:
        plan: The node.
        javas: The Catalyst node of each node.
        named: The ids of the attributes that the projection and filters right above name; None is all.
    """
    if isinstance(plan, Scan):
        yield plan, None if named is None else _column_names(plan, named)
        return
    above = named if isinstance(plan, Filter | Project) and is_filtered_scan(plan) else None
    if isinstance(plan, Project) and is_filtered_scan(plan):
        # The lowest projection decides, because nodes above it name its own attributes.
        above = _referenced_ids(javas[plan])
    elif isinstance(plan, Filter) and above is not None:
        references = _referenced_ids(javas[plan])
        above = None if references is None else above | references
    for child in inputs(plan):
        yield from _columns_below(child, javas, above)


def key_columns(tree: Plan) -> dict[Scan, frozenset[str]]:
    """Return the columns of each scan that keys of joins, groups and orders are made of.

    Techniques are likely to ask for their metadata; what else they ask for is read when they do.
    """
    definitions: dict[str, list[Expression]] = {}
    pending: list[str] = []
    for node in nodes(tree):
        pending += leaf_names(*_key_expressions(node))
        for defined in _definitions(node):
            for name, expression in defined.items():
                definitions.setdefault(name, []).append(expression)
    attributes: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in attributes:
            attributes.add(name)
            pending += leaf_names(*definitions.get(name, ()))
    return {
        scan: frozenset(column.name for name, column in scan.columns.items() if name in attributes)
        for scan in scans(tree)
    }


def columns_needed(
    predicate: Expression, keys: frozenset[str], columns_read: frozenset[str] | None
) -> frozenset[str]:
    """Return the top-level columns whose metadata a scan asks for first."""
    return keys.union(map(top_column, leaf_names(predicate)), columns_read or ())


def _definitions(node: Plan) -> tuple[Mapping[str, Expression], ...]:
    """Return the attributes that a node defines by those of its inputs."""
    match node:
        case Project(definitions=definitions) | Aggregate(definitions=definitions):
            return (definitions,)
        case Union(definitions=of_branches):
            return of_branches
        case _:
            return ()


def _key_expressions(node: Plan) -> Iterator[Expression]:
    match node:
        case Join(condition=condition, equalities=equalities):
            yield from condition
            for equality in equalities:
                yield from (equality.left, equality.right)
        case Sort(items=items):
            yield from (item.key for item in items)
        case Aggregate(definitions=definitions):
            yield from definitions.values()


def _column_names(scan: Scan, named: frozenset[int]) -> frozenset[str]:
    return frozenset(column.name for id_, column in scan.columns.items() if int(id_[1:]) in named)


def _referenced_ids(node: Java) -> frozenset[int] | None:
    """Return the ids of the attributes that a node's own expressions name; None if one is not printed so."""
    printed = node.references().toSeq().mkString(_SEPARATOR)
    matches = [_ID.search(attribute) for attribute in printed.split(_SEPARATOR)] if printed else []
    ids = frozenset(int(id_[1]) for id_ in matches if id_ is not None)
    return ids if len(ids) == len(matches) else None


def bytes_read(metadata: pa.Table, columns: frozenset[str] | None) -> np.ndarray:
    """Return the compressed bytes of some of a table's columns in each block; shape (blocks,).

    If one of the columns has no block metadata, the bytes of all columns without metadata count, because only
    the block's total has them. An unknown size counts as 0.

    Args:
        metadata: As `pruning.metadata.table.schema` says.
        columns: The columns' names in the table; None is all of them.
    """
    whole = _byte_counts(metadata.column("byte_count").combine_chunks())
    if columns is None:
        return whole
    column_structs = metadata.column("columns").combine_chunks()
    owners = [top_column(field.name) for field in column_structs.type]
    read = _byte_sum(column_structs, (place for place, owner in enumerate(owners) if owner in columns))
    if columns <= set(owners):
        return read
    others = _byte_sum(column_structs, (place for place, owner in enumerate(owners) if owner not in columns))
    larger: np.ndarray = np.maximum(whole - others, read)
    return larger


def _byte_sum(column_structs: pa.StructArray, places: Iterable[int]) -> np.ndarray:
    total = np.zeros(len(column_structs), np.int64)
    for place in places:
        total += _byte_counts(column_structs.field(place).field("byte_count"))
    return total


def _byte_counts(counts: pa.Array) -> np.ndarray:
    sizes: np.ndarray = pc.fill_null(counts, 0).to_numpy(zero_copy_only=False)
    return sizes
