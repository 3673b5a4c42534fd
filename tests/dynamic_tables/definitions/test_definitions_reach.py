"""The definitions and the writes to their tables reach what is hard to maintain, often enough."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from definition_sets import (
    DEFINITIONS_COUNT,
    LETTERS_HISTORY,
    SHOP_HISTORY,
    Definition,
    definition_group,
    drawn_definitions,
    group_names,
    written_definitions,
)

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import KERNELS
from dynamic_tables.maintenance.algebra import (
    Explode,
    Group,
    Join,
    JoinKind,
    Relation,
    Window,
    scans,
    subrelations,
)
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Expression
from strategies.dynamic.base_tables import (
    RowDeletion,
    RowInsertion,
    RowUpdate,
    Version,
    WriteHistory,
    interval_changes,
)

HISTORIES = {"shop": SHOP_HISTORY, "letters": LETTERS_HISTORY}
Member = tuple[Definition, WriteHistory]


def members() -> Iterator[Member]:
    """Each definition with the writes to its tables."""
    for name in group_names():
        group = definition_group(name)
        for definition in group.definitions:
            yield definition, group.history


def nodes_of(definition: Definition) -> list[Relation]:
    return list(subrelations(definition.query.relation))


def test_there_are_two_hundred_definitions_of_which_most_are_written_by_hand() -> None:
    names = [definition.name for definition, _ in members()]
    assert len(names) == len(set(names)) == DEFINITIONS_COUNT == 200
    assert len(written_definitions()) >= 60
    assert len({definition.query.fingerprint for definition in written_definitions()}) >= 100
    assert len({definition.query.fingerprint for definition in drawn_definitions()}) >= 75


# What a definition has, and the least number of definitions that have it.
SHAPES: dict[str, tuple[int, Callable[[list[Relation]], object]]] = {
    "several joins": (15, lambda nodes: sum(isinstance(node, Join) for node in nodes) > 1),
    "a self join": (10, lambda nodes: any(map(joins_a_source_with_itself, nodes))),
    "a residual condition": (
        10,
        lambda nodes: any(isinstance(node, Join) and node.residual for node in nodes),
    ),
    "a group above a group": (5, lambda nodes: sum(isinstance(node, Group) for node in nodes) > 1),
    "a group above a join": (8, lambda nodes: is_above(nodes, Group, Join)),
    "a window above a join": (4, lambda nodes: is_above(nodes, Window, Join)),
    "a join above a group": (8, lambda nodes: is_above(nodes, Join, Group)),
    "an outer explode": (3, lambda nodes: any(isinstance(node, Explode) and node.outer for node in nodes)),
}


def joins_a_source_with_itself(node: Relation) -> bool:
    if not isinstance(node, Join):
        return False
    left, right = ({scan.source for scan in scans(side)} for side in (node.left, node.right))
    return bool(left & right)


def is_above(nodes: list[Relation], above: type[Relation], below: type[Relation]) -> bool:
    return any(
        isinstance(lower, below)
        for node in nodes
        if isinstance(node, above)
        for lower in subrelations(node)
        if lower is not node
    )


def test_each_operator_is_in_at_least_ten_definitions() -> None:
    counts = Counter(kind for definition, _ in members() for kind in set(map(type, nodes_of(definition))))
    assert set(counts) == set(KERNELS)
    assert min(counts.values()) >= 10, counts


def test_each_kind_of_join_is_in_at_least_ten_definitions() -> None:
    counts = Counter(
        kind
        for definition, _ in members()
        for kind in {node.kind for node in nodes_of(definition) if isinstance(node, Join)}
    )
    assert min(counts[kind] for kind in JoinKind) >= 10, counts


@pytest.mark.parametrize("shape", SHAPES)
def test_definitions_reach_each_shape(shape: str) -> None:
    least, has_shape = SHAPES[shape]
    assert sum(bool(has_shape(nodes_of(definition))) for definition, _ in members()) >= least


def test_window_functions_and_frames_are_all_reached() -> None:
    functions = [
        function
        for definition, _ in members()
        for node in nodes_of(definition)
        if isinstance(node, Window)
        for function in node.functions
    ]
    names = {function.function for function in functions}
    assert {"row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value", "sum"} <= names
    assert len({function.frame for function in functions}) >= 6


def test_three_in_ten_intervals_of_a_join_change_both_of_its_sides() -> None:
    both, intervals = 0, 0
    for definition, history in members():
        joins = [node for node in nodes_of(definition) if isinstance(node, Join)]
        for before, after in pairwise(history.versions() if joins else []):
            changes = interval_changes(before, after)
            changed = {identity for identity, interval in changes.items() if interval.changes}
            intervals += len(joins)
            both += sum(
                all(any(scan.source in changed for scan in scans(side)) for side in (join.left, join.right))
                for join in joins
            )
    assert intervals >= 500
    assert both >= 0.3 * intervals


def test_most_results_change_in_most_intervals() -> None:
    """Otherwise no changes would be right by chance."""
    changed, backend = Counter[str](), BagBackend()
    for definition, history in members():
        results = [backend.full(definition.query, version) for version in history.versions()]
        exact = [{row_id: exact_key(row) for row_id, row in result.items()} for result in results]
        changed[definition.name] = sum(before != after for before, after in pairwise(exact))
    assert sum(count >= 4 for count in changed.values()) >= 0.75 * DEFINITIONS_COUNT
    assert sum(count == 0 for count in changed.values()) <= 0.05 * DEFINITIONS_COUNT


def has_null_key(relation: Relation, keys: tuple[Expression, ...], versions: list[Version]) -> bool:
    """Tell whether some row of a relation has NULL in a key."""
    backend, functions = BagBackend(), [compile_expression(key) for key in keys]
    return any(
        function(row) is None
        for version in versions
        for row in backend.full(Query(relation), version).values()
        for function in functions
    )


def test_keys_of_joins_groups_and_partitions_are_often_null() -> None:
    counts = Counter[type[Relation]]()
    for definition, history in members():
        versions = history.versions()
        for node in nodes_of(definition):
            match node:
                case Join() if has_null_key(node.left, node.left_keys, versions):
                    counts[Join] += has_null_key(node.right, node.right_keys, versions)
                case Group():
                    counts[Group] += has_null_key(node.child, node.keys, versions)
                case Window():
                    counts[Window] += has_null_key(node.child, node.partition, versions)
    assert counts[Join] >= 30
    assert counts[Group] >= 30
    assert counts[Window] >= 20


@pytest.mark.parametrize("name", HISTORIES)
def test_writes_reach_updates_that_are_taken_back_and_empty_tables(name: str) -> None:
    kinds, taken_back, empty, duplicates = Counter[type](), 0, 0, 0
    history = HISTORIES[name]
    for writes, versions in zip(history.intervals, history.steps(), strict=True):
        kinds.update(map(type, writes))
        first, last = versions[0], versions[-1]
        taken_back += any(
            row_id in first[identity]
            and first[identity][row_id] == rows[row_id]
            and any(version[identity].get(row_id) != rows[row_id] for version in versions)
            for identity, rows in last.items()
            for row_id in rows
        )
        empty += sum(not rows for rows in last.values())
        duplicates += any(len(set(map(exact_key, rows.values()))) < len(rows) for rows in last.values())
    assert min(kinds[kind] for kind in (RowInsertion, RowUpdate, RowDeletion)) >= 5
    assert taken_back >= 4
    assert empty >= 2
    assert duplicates >= 6


def test_keys_of_the_shop_are_skewed() -> None:
    """One customer has as many sales as half of the others together."""
    shares = []
    for version in SHOP_HISTORY.versions():
        customers = Counter(row[1] for row in version["sales"].values())
        shares.append(max(customers.values()) / sum(customers.values()))
    assert sum(share >= 0.33 for share in shares) >= 6
