"""The computation of each operator of the algebra: from rows with ids to rows with ids.

Row ids ([D] 5.5): a scan keeps the ids of its source, constant rows have their place; filter, project and
window keep the ids of their input. A union puts the branch number before the id, an explode the ordinals and
names; a join combines the ids of both rows, one of which may be missing; a group's id is its key. Each nested
id is preceded by its length or a terminator, so that different ids never combine to the same one (trap 52).
The source is not part of an id: its place in the query determines it, and a clone reads other sources under
the same ids. The text of a key is that of `values.key_texts`.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dynamic_tables.bags.aggregates import compile_aggregate
from dynamic_tables.bags.windows import compile_windows
from dynamic_tables.maintenance.algebra import (
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
    inputs,
)
from dynamic_tables.values.cells import row_canonical, row_key
from dynamic_tables.values.changes import Cell, Contents, Row, RowId
from dynamic_tables.values.errors import DuplicateRowId
from dynamic_tables.values.evaluation import cell_picker, compile_expression, compile_row
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.key_texts import key_id, value_text
from dynamic_tables.values.paths import extended_path
from dynamic_tables.values.types import PLAIN

Pair: TypeAlias = tuple[RowId, Row]
Pairs: TypeAlias = Collection[Pair]
# The deleted rows and the inserted rows.
RowChanges: TypeAlias = tuple[Pairs, Pairs]
# The computation of an operator: from the rows of its inputs to the rows of its result.
Kernel: TypeAlias = Callable[..., Pairs]

KEEPS_LEFT = frozenset({JoinKind.LEFT, JoinKind.FULL})
KEEPS_RIGHT = frozenset({JoinKind.RIGHT, JoinKind.FULL})


def scan_kernel(relation: Scan) -> Kernel:
    """Return the kernel of a scan: the columns that the query reads."""
    if relation.positions is None:
        return lambda rows: rows
    pick = cell_picker(relation.positions)
    return lambda rows: [(row_id, pick(row)) for row_id, row in rows]


def constants_kernel(relation: ConstantRows) -> Kernel:
    """Return the kernel of constant rows, whose ids are their places."""
    pairs = [(f"v{place}", row) for place, row in enumerate(relation.rows)]
    return lambda: pairs


def filter_kernel(relation: Filter) -> Kernel:
    """Return the kernel of a filter: the rows whose condition is TRUE."""
    holds = compile_expression(relation.condition)
    return lambda rows: [pair for pair in rows if holds(pair[1]) is True]


def project_kernel(relation: Project) -> Kernel:
    """Return the kernel of a projection: one computed row for each row."""
    compute = compile_row(relation.columns)
    return lambda rows: [(row_id, compute(row)) for row_id, row in rows]


def union_kernel(relation: UnionAll) -> Kernel:
    """Return the kernel of UNION ALL: the rows of all branches, with the branch in each id (trap 13)."""

    def run(*branches: Pairs) -> Pairs:
        return [(f"u{place}:{row_id}", row) for place, rows in enumerate(branches) for row_id, row in rows]

    return run


def explode_kernel(relation: Explode) -> Kernel:
    """Return the kernel of FLATTEN: a row per element or member, whose place is in the id (trap 38)."""
    elements, parts_of = compile_expression(relation.elements), element_finder(relation)
    columns = slice(0 if relation.keyed else 1, 5 if relation.detailed else 3)

    def run(rows: Pairs) -> Pairs:
        exploded: list[Pair] = []
        for row_id, row in rows:
            value = elements(row)
            parts = parts_of(value)
            exploded += [(f"e{part}:{row_id}", (*row, *cells[columns])) for part, cells in parts]
            if relation.outer and not parts:
                nothing: Row = (None, None, None, relation.prefix, value)
                exploded.append((f"e~:{row_id}", (*row, *nothing[columns])))
        return exploded

    return run


def element_finder(relation: Explode) -> Callable[[Cell], list[tuple[str, Row]]]:
    """Return a function that gives the elements which a FLATTEN gives of a value.

    Returns:
        For each element: a text that identifies it, and its name, ordinal, value and path, and the list or
        object that has it.
    """
    recursive, prefix = relation.recursive, relation.prefix

    def below(value: Cell, path: str, part: str) -> Iterator[tuple[str, Row]]:
        for name, cells in elements_of(value):
            step = cells[1] if cells[0] is None else cells[0]
            assert isinstance(step, (int, str)), "an element has a place or a name"
            at = extended_path(path, step)
            yield part + name, (*cells, at, value)
            if recursive:
                yield from below(cells[2], at, f"{part}{name}/")

    if relation.detailed or recursive:
        return lambda value: list(below(value, prefix, ""))
    return elements_of


def elements_of(value: Cell) -> list[tuple[str, Row]]:
    """Return the elements of a list or the members of an object; another value has none.

    Returns:
        For each element: a text that identifies it, and its name, ordinal and value.
    """
    if isinstance(value, tuple):
        return [(str(place), (None, place, cell)) for place, cell in enumerate(value)]
    if isinstance(value, Mapping):
        return [(value_text(name), (name, None, cell)) for name, cell in value.items()]
    return []


def key_function(expressions: Sequence[Expression]) -> Callable[[Row], Any]:
    """Return a function that gives the key of a row as a tuple in which NULL equals NULL."""
    compute, as_key = compile_row(expressions), row_key([expression.type for expression in expressions])
    if all(expression.type.kind in PLAIN for expression in expressions):
        return compute
    return lambda row: as_key(compute(row))


def index_by_key(rows: Pairs, key: Callable[[Row], Any]) -> dict[Hashable, list[Pair]]:
    """Group rows by key, without rows whose key has a NULL: they match nothing (trap 7)."""
    index: dict[Hashable, list[Pair]] = {}
    for pair in rows:
        value = key(pair[1])
        if None not in value:
            index.setdefault(value, []).append(pair)
    return index


def join_kernel(relation: Join) -> Kernel:
    """Return the kernel of a join: matching pairs, and the unmatched rows that its kind keeps."""
    inner = inner_matcher(relation)
    if relation.kind is JoinKind.INNER:
        return lambda left, right: [
            (pair_id(left_id, right_id), row) for left_id, right_id, row in inner(left, right)
        ]
    no_left, no_right = (None,) * len(relation.left.fields), (None,) * len(relation.right.fields)

    def run(left: Pairs, right: Pairs) -> Pairs:
        pairs: list[Pair] = []
        met_left, met_right = set(), set()
        for left_id, right_id, row in inner(left, right):
            met_left.add(left_id)
            met_right.add(right_id)
            pairs.append((pair_id(left_id, right_id), row))
        if relation.kind in KEEPS_LEFT:
            pairs += [(f"l:{row_id}", (*row, *no_right)) for row_id, row in left if row_id not in met_left]
        if relation.kind in KEEPS_RIGHT:
            pairs += [(f"r:{row_id}", (*no_left, *row)) for row_id, row in right if row_id not in met_right]
        return pairs

    return run


def pair_id(left: RowId, right: RowId) -> RowId:
    """Return the id of a pair; the length marks where the left id ends."""
    return f"j{len(left)}:{left}{right}"


def inner_matcher(relation: Join) -> Callable[[Pairs, Pairs], list[tuple[RowId, RowId, Row]]]:
    """Return a function that gives the matching pairs as two ids and a row; it indexes the smaller side."""
    left_key, right_key = key_function(relation.left_keys), key_function(relation.right_keys)
    holds = None if relation.residual is None else compile_expression(relation.residual)

    def run(left: Pairs, right: Pairs) -> list[tuple[RowId, RowId, Row]]:
        none: list[Pair] = []
        if len(left) <= len(right):
            index = index_by_key(left, left_key)
            matches = [
                (left_id, right_id, left_row + right_row)
                for right_id, right_row in right
                for left_id, left_row in index.get(right_key(right_row), none)
            ]
        else:
            index = index_by_key(right, right_key)
            matches = [
                (left_id, right_id, left_row + right_row)
                for left_id, left_row in left
                for right_id, right_row in index.get(left_key(left_row), none)
            ]
        return matches if holds is None else [match for match in matches if holds(match[2]) is True]

    return run


def distinct_kernel(relation: Distinct) -> Kernel:
    """Return the kernel of DISTINCT: each row once, with its content as id."""
    types = [field.type for field in relation.fields]
    key, standing = row_key(types), row_canonical(types)

    def run(rows: Pairs) -> Pairs:
        rows_once = map(standing, {key(row): row for _, row in rows}.values())
        return [(key_id(row, types), row) for row in rows_once]

    return run


def group_kernel(relation: Group) -> Kernel:
    """Return the kernel of GROUP BY: one row for each key; without keys always one row (trap 39)."""
    types = [expression.type for expression in relation.keys]
    keys, key, standing = compile_row(relation.keys), row_key(types), row_canonical(types)
    aggregates = [compile_aggregate(aggregate) for aggregate in relation.aggregates]

    def run(rows: Pairs) -> Pairs:
        groups: dict[Hashable, tuple[Row, list[Row]]] = {} if relation.keys else {(): ((), [])}
        for _, row in rows:
            cells = keys(row)
            value = key(cells)
            group = groups.get(value)
            if group is None:
                groups[value] = (standing(cells), [row])
            else:
                group[1].append(row)
        return [
            (key_id(cells, types), (*cells, *[aggregate(members) for aggregate in aggregates]))
            for cells, members in groups.values()
        ]

    return run


def window_kernel(relation: Window) -> Kernel:
    """Return the kernel of window functions: each row followed by the functions over its partition."""
    key, add = key_function(relation.partition), compile_windows(relation.functions)

    def run(rows: Pairs) -> Pairs:
        partitions: dict[Hashable, list[Pair]] = {}
        for pair in rows:
            partitions.setdefault(key(pair[1]), []).append(pair)
        return [pair for members in partitions.values() for pair in add(members)]

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


def compile_relation(
    relation: Relation, kernels: Kernels = KERNELS
) -> Callable[[Mapping[str, Contents]], Pairs]:
    """Return a function that computes a relation's rows from the contents of its sources, by identity."""
    kernel = kernels[type(relation)](relation)
    if isinstance(relation, Scan):
        source = relation.source
        return lambda sources: kernel(sources[source].items())
    below = [compile_relation(child, kernels) for child in inputs(relation)]
    if len(below) == 1:
        (only,) = below
        return lambda sources: kernel(only(sources))
    return lambda sources: kernel(*[compute(sources) for compute in below])


def contents_by_id(rows: Pairs) -> Contents:
    """Return rows by their ids.

    Raises:
        DuplicateRowId: Two rows have the same id.
    """
    by_id = dict(rows)
    if len(by_id) != len(rows):
        raise DuplicateRowId(f"{len(rows)} rows have {len(by_id)} different ids")
    return by_id
