"""Reachability: the scans at which a condition on keys may drop rows that the query would drop anyway.

One walk down a plan finds the paths from keys to scans. The techniques need different properties of a path,
so each path states its own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pruning.expressions.names import quoted_path
from pruning.expressions.plans import (
    Aggregate,
    Exchange,
    Filter,
    Join,
    JoinKind,
    Limit,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    is_filtered_scan,
)
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Column, Element, Expression, Opaque, Quantified, type_of

# A key that a scan does not determine is None.
Keys: TypeAlias = tuple[Expression | None, ...]

# The sides of a join on which a condition may be applied before the join: dropping a row of the side drops
# only the rows that the join makes of it.
_OPEN_SIDES = {
    JoinKind.INNER: ("left", "right"),
    JoinKind.LEFT: ("left",),
    JoinKind.RIGHT: ("right",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("left",),
    JoinKind.ANTI: ("left",),
    JoinKind.EXISTENCE: ("left",),
}
# The sides of which the join keeps every row.
_PRESERVED = {JoinKind.LEFT: "left", JoinKind.RIGHT: "right", JoinKind.EXISTENCE: "left"}


# The name of a field of a struct attribute, as `names.field_name` writes it.
_FIELD = re.compile(r"`(#\d+)`\.(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPath:
    """The path from keys of a plan down to a scan.

    Claim     Without the scan's rows on which a condition on the keys is not TRUE, the plan gives the same
              rows on which the condition is TRUE. Of its other rows some may be missing. None of them
              becomes another, unless the path is neither `rowwise` nor `sole_source`.
    Proof     Node by node, in `key_paths`: each passes on only keys that one of its inputs determines, and
              none whose unmatched rows it would keep as something else. All rows of a group or a window's
              partition have the same keys, so they fail the condition together; but where they come from
              other inputs too, the group remains, with other aggregates over its failing keys.

    Attributes:
        scan: The scan at its end.
        keys: The keys over the table's columns; None where the scan does not determine them.
        preserving: Each row of the scan that satisfies the filters right above it gives the plan a row
            with its keys.
        rowwise: Each row of the plan is made of at most one row of the scan.
        sole_source: Each row of the plan is made of at least one row of the scan.
        monotone: From a part of the scan's rows the plan gives no key that it does not give from all of them.
        joins: The kinds of the joins on the path, from the top down.
        definitions: The expressions that are computed on the path, where `rows_wanted` was given.
    """

    scan: Scan
    keys: Keys
    preserving: bool = True
    rowwise: bool = True
    sole_source: bool = True
    monotone: bool = True
    joins: tuple[JoinKind, ...] = ()
    definitions: tuple[Expression, ...] = ()


def key_paths(plan: Plan, keys: Keys, *, rows_wanted: int | None = None) -> Iterator[KeyPath]:
    """Yield the paths from keys, expressions over the plan's attributes, to scans.

    Args:
        plan: The plan at the top of the paths.
        keys: The keys; empty for LIMIT, which takes any rows.
        rows_wanted: The number of rows that are enough, whichever they are; None where every row counts.
    """
    if keys and all(key is None for key in keys):
        return
    match plan:
        case Scan():
            here = tuple(_key_below(key, plan.columns) for key in keys)
            if not keys or any(key is not None for key in here):
                yield KeyPath(scan=plan, keys=here)
        case Filter(child):
            for path in key_paths(child, keys, rows_wanted=rows_wanted):
                # Filters right above a scan are part of the scan's own filter.
                yield path if is_filtered_scan(child) else _path_below_filter(path)
        case Project(child, definitions):
            below = tuple(_key_below(key, definitions) for key in keys)
            computed = () if rows_wanted is None else tuple(_computed_definitions(definitions))
            for path in key_paths(child, below, rows_wanted=rows_wanted):
                yield replace(path, definitions=(*computed, *path.definitions))
        case Join():
            yield from _paths_through_join(plan, keys, rows_wanted)
        case Aggregate(child, definitions) if keys:
            below = tuple(_key_below(key, definitions) for key in keys)
            for path in key_paths(child, below):
                yield replace(path, rowwise=False)
        case Window(child, partition_by, limited) if keys:
            below = tuple(_key_within(key, partition_by) for key in keys)
            for path in key_paths(child, below):
                yield replace(path, rowwise=False, preserving=path.preserving and not limited)
        case Sort(child) if rows_wanted is None:
            yield from key_paths(child, keys)
        case Exchange(child):
            yield from key_paths(child, keys, rows_wanted=rows_wanted)
        case Limit(child, count) if rows_wanted is not None and count >= rows_wanted:
            yield from key_paths(child, keys, rows_wanted=rows_wanted)
        case Union(branches, definitions):
            for branch, defined in zip(branches, definitions, strict=True):
                below = tuple(_key_below(key, defined) for key in keys)
                for path in key_paths(branch, below, rows_wanted=rows_wanted):
                    yield replace(path, sole_source=False)


def _path_below_filter(path: KeyPath) -> KeyPath:
    """Return a path below a filter, which may drop the scan's rows.

    The filter may also drop a group that is made of some of the rows, and keep the group made of all.
    """
    return replace(path, preserving=False, monotone=path.monotone and path.rowwise)


def _paths_through_join(join: Join, keys: Keys, rows_wanted: int | None) -> Iterator[KeyPath]:
    sides = {"left": (join.left, join.left_attributes), "right": (join.right, join.right_attributes)}
    computed = () if rows_wanted is None else join.condition
    for side in _OPEN_SIDES[join.kind]:
        child, attributes = sides[side]
        below = tuple(_key_within(key, attributes) for key in keys)
        for path in key_paths(child, below, rows_wanted=rows_wanted):
            behind = path if _PRESERVED.get(join.kind) == side else _path_below_filter(path)
            yield replace(
                behind,
                monotone=behind.monotone and path.rowwise,
                joins=(join.kind, *path.joins),
                definitions=(*computed, *path.definitions),
            )


def _computed_definitions(definitions: Mapping[str, Expression]) -> Iterator[Expression]:
    return (definition for definition in definitions.values() if not isinstance(definition, Column))


def _key_below(key: Expression | None, definitions: Mapping[str, Expression]) -> Expression | None:
    """Return the key with its attributes replaced by their definitions; None where one has none."""
    if key is None or any(isinstance(part, Element | Quantified | Opaque) for part in walk(key)):
        return None
    replacements: dict[Expression, Expression] = {}
    for name, type_ in columns(key).items():
        definition = _attribute_definition(Column(name, type_), definitions)
        if definition is None:
            return None
        replacements[Column(name, type_)] = definition
    key_below = substitute(key, replacements)
    return key_below if type_of(key_below).has_bounds else None


def _attribute_definition(attribute: Column, definitions: Mapping[str, Expression]) -> Expression | None:
    """Return the definition of an attribute, or of a field of one that is a column itself."""
    field = _FIELD.fullmatch(attribute.name)
    if field is None:
        return definitions.get(attribute.name)
    struct = definitions.get(field[1])
    if not isinstance(struct, Column):
        return None
    return Column(f"{quoted_path(struct.name)}.{field[2]}", attribute.type)


def _key_within(key: Expression | None, attributes: frozenset[str]) -> Expression | None:
    """Return the key if all its attributes are among these; else None."""
    return key if key is not None and set(_attribute_names(key)) <= attributes else None


def _attribute_names(key: Expression) -> Iterator[str]:
    for name in columns(key):
        field = _FIELD.fullmatch(name)
        yield name if field is None else field[1]
