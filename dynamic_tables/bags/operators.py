"""What each operator of the algebra computes, from rows with ids to rows with ids.

Row ids ([D] 5.5): a scan's are the source's; filter, project and window keep their input's; a union names the
branch before it, an explode the ordinal or the name, a join the ids of both rows, of which one may be
missing; a group's is its key. Before each nested id stands what ends it, so that no two make one (trap 52).
The source is not named: its place in the query tells it, and a clone reads other sources under the same ids.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from dynamic_tables.bags.aggregates import compiled_aggregate
from dynamic_tables.bags.windows import compiled_windows
from dynamic_tables.maintenance.algebra import (
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
from dynamic_tables.values.cells import encoded, key_id, row_canonical, row_key
from dynamic_tables.values.changes import Cell, Contents, Row, RowId
from dynamic_tables.values.errors import DuplicateRowId
from dynamic_tables.values.evaluation import compiled, compiled_row, picking
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.types import PLAIN

Pair: TypeAlias = tuple[RowId, Row]
Pairs: TypeAlias = Collection[Pair]
# An operator's work: of the rows of its inputs, the rows of its result.
Kernel: TypeAlias = Callable[..., Pairs]

KEEPS_LEFT = frozenset({JoinKind.LEFT, JoinKind.FULL})
KEEPS_RIGHT = frozenset({JoinKind.RIGHT, JoinKind.FULL})


def scan(relation: Scan) -> Kernel:
    """The columns that are read."""
    if relation.positions is None:
        return lambda rows: rows
    pick = picking(relation.positions)
    return lambda rows: [(row_id, pick(row)) for row_id, row in rows]


def filtered(relation: Filter) -> Kernel:
    """The rows of which the condition is TRUE."""
    holds = compiled(relation.condition)
    return lambda rows: [pair for pair in rows if holds(pair[1]) is True]


def projected(relation: Project) -> Kernel:
    """One computed row for each."""
    compute = compiled_row(relation.columns)
    return lambda rows: [(row_id, compute(row)) for row_id, row in rows]


def united(relation: UnionAll) -> Kernel:
    """The rows of all branches, each with its branch in its id (trap 13)."""

    def run(*branches: Pairs) -> Pairs:
        return [(f"u{place}:{row_id}", row) for place, rows in enumerate(branches) for row_id, row in rows]

    return run


def exploded(relation: Explode) -> Kernel:
    """Each row once for each element or member, with its ordinal or name in the id (trap 38)."""
    elements, hidden = compiled(relation.elements), 0 if relation.keyed else 1
    nothing = (None,) * len(relation.added)

    def run(rows: Pairs) -> Pairs:
        found: list[Pair] = []
        for row_id, row in rows:
            parts = parts_of(elements(row))
            found += [(f"e{part}:{row_id}", (*row, *cells[hidden:])) for part, cells in parts]
            if relation.outer and not parts:
                found.append((f"e~:{row_id}", (*row, *nothing)))
        return found

    return run


def parts_of(value: Cell) -> list[tuple[str, Row]]:
    """Return the elements of a list or the members of an object; another value has none.

    Returns:
        For each a text that tells it from the others, and its name, ordinal and value.
    """
    if isinstance(value, tuple):
        return [(str(place), (None, place, cell)) for place, cell in enumerate(value)]
    if isinstance(value, Mapping):
        return [(encoded(name), (name, None, cell)) for name, cell in value.items()]
    return []


def key_of(expressions: Sequence[Expression]) -> Callable[[Row], Any]:
    """A function that gives the key of a row as a tuple; NULL equals NULL there."""
    compute, as_key = compiled_row(expressions), row_key([expression.type for expression in expressions])
    if all(expression.type.kind in PLAIN for expression in expressions):
        return compute
    return lambda row: as_key(compute(row))


def by_key(rows: Pairs, key: Callable[[Row], Any]) -> dict[Hashable, list[Pair]]:
    """Rows by their keys; those whose key has a NULL match nothing and are left out (trap 7)."""
    found: dict[Hashable, list[Pair]] = {}
    for pair in rows:
        value = key(pair[1])
        if None not in value:
            found.setdefault(value, []).append(pair)
    return found


def joined(relation: Join) -> Kernel:
    """Pairs of matching rows, and the rows without a partner that the kind keeps."""
    inner = inner_joined(relation)
    if relation.kind is JoinKind.INNER:
        return lambda left, right: [(pair_id(one, other), row) for one, other, row in inner(left, right)]
    no_left, no_right = (None,) * len(relation.left.fields), (None,) * len(relation.right.fields)

    def run(left: Pairs, right: Pairs) -> Pairs:
        found: list[Pair] = []
        met_left, met_right = set(), set()
        for one, other, row in inner(left, right):
            met_left.add(one)
            met_right.add(other)
            found.append((pair_id(one, other), row))
        if relation.kind in KEEPS_LEFT:
            found += [(f"l:{one}", (*row, *no_right)) for one, row in left if one not in met_left]
        if relation.kind in KEEPS_RIGHT:
            found += [(f"r:{one}", (*no_left, *row)) for one, row in right if one not in met_right]
        return found

    return run


def pair_id(left: RowId, right: RowId) -> RowId:
    """The id of a pair: the length tells where one id ends."""
    return f"j{len(left)}:{left}{right}"


def inner_joined(relation: Join) -> Callable[[Pairs, Pairs], list[tuple[RowId, RowId, Row]]]:
    """A function that gives the matching pairs, as two ids and one row; it indexes the smaller side."""
    left_key, right_key = key_of(relation.left_keys), key_of(relation.right_keys)
    holds = None if relation.residual is None else compiled(relation.residual)

    def run(left: Pairs, right: Pairs) -> list[tuple[RowId, RowId, Row]]:
        none: list[Pair] = []
        if len(left) <= len(right):
            index = by_key(left, left_key)
            found = [
                (one, other, left_row + right_row)
                for other, right_row in right
                for one, left_row in index.get(right_key(right_row), none)
            ]
        else:
            index = by_key(right, right_key)
            found = [
                (one, other, left_row + right_row)
                for one, left_row in left
                for other, right_row in index.get(left_key(left_row), none)
            ]
        return found if holds is None else [match for match in found if holds(match[2]) is True]

    return run


def distinct(relation: Distinct) -> Kernel:
    """Each row once, with itself as id."""
    types = [field.type for field in relation.fields]
    key, standing = row_key(types), row_canonical(types)

    def run(rows: Pairs) -> Pairs:
        found = map(standing, {key(row): row for _, row in rows}.values())
        return [(key_id(row), row) for row in found]

    return run


def grouped(relation: Group) -> Kernel:
    """One row for each key; without keys one row always (trap 39)."""
    types = [expression.type for expression in relation.keys]
    keys, key, standing = compiled_row(relation.keys), row_key(types), row_canonical(types)
    aggregates = [compiled_aggregate(one) for one in relation.aggregates]

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
            (key_id(cells), (*cells, *[aggregate(members) for aggregate in aggregates]))
            for cells, members in groups.values()
        ]

    return run


def windowed(relation: Window) -> Kernel:
    """Each row with the functions over its partition."""
    key, add = key_of(relation.partition), compiled_windows(relation.functions)

    def run(rows: Pairs) -> Pairs:
        partitions: dict[Hashable, list[Pair]] = {}
        for pair in rows:
            partitions.setdefault(key(pair[1]), []).append(pair)
        return [pair for members in partitions.values() for pair in add(members)]

    return run


KERNELS: Mapping[type[Relation], Callable[[Any], Kernel]] = {
    Scan: scan,
    Filter: filtered,
    Project: projected,
    UnionAll: united,
    Join: joined,
    Explode: exploded,
    Distinct: distinct,
    Group: grouped,
    Window: windowed,
}
Kernels: TypeAlias = Mapping[type[Relation], Callable[[Any], Kernel]]


def compiled_relation(
    relation: Relation, kernels: Kernels = KERNELS
) -> Callable[[Mapping[str, Contents]], Pairs]:
    """A function that gives the rows of a relation from the contents of its sources, by identity."""
    kernel = kernels[type(relation)](relation)
    if isinstance(relation, Scan):
        source = relation.source
        return lambda sources: kernel(sources[source].items())
    below = [compiled_relation(one, kernels) for one in inputs(relation)]
    if len(below) == 1:
        (only,) = below
        return lambda sources: kernel(only(sources))
    return lambda sources: kernel(*[one(sources) for one in below])


def contents(rows: Pairs) -> Contents:
    """Rows by their ids.

    Raises:
        DuplicateRowId: Two rows have the same.
    """
    found = dict(rows)
    if len(found) != len(rows):
        raise DuplicateRowId(f"{len(rows)} rows have {len(found)} different ids")
    return found
