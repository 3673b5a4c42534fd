"""Which scans a condition on some keys can be asked of: what it drops there, the query would drop anyway.

This is the table "when a technique may act" as one walk down a plan. The techniques differ in what they
need of the way from the keys to a scan, so each way says what is true of it.
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

# A key that cannot be seen is None.
Keys: TypeAlias = tuple[Expression | None, ...]

# The sides whose unmatched rows a join keeps, or drops one by one: a condition on them may be asked earlier.
_OPEN_SIDES = {
    JoinKind.INNER: ("left", "right"),
    JoinKind.LEFT: ("left",),
    JoinKind.RIGHT: ("right",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("left",),
    JoinKind.ANTI: ("left",),
    JoinKind.EXISTENCE: ("left",),
}
# The sides each row of which gives a row at least.
_PRESERVED = {JoinKind.LEFT: "left", JoinKind.RIGHT: "right", JoinKind.EXISTENCE: "left"}


# A field of a struct that is an attribute, as `names.field_name` writes it.
_FIELD = re.compile(r"`(#\d+)`\.(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPath:
    """A way from keys down to a scan.

    Claim     Without the scan's rows on which a condition on the keys is not TRUE, the plan gives the
              rows that it gave, less some on which the condition is not TRUE.
    Proof     Node by node, in `key_paths`: each passes on only keys that one of its inputs determines, and
              none whose unmatched rows it would keep as something else.

    Attributes:
        scan: Where it ends.
        keys: The keys over the table's columns; None where the scan does not determine them.
        preserving: Each row of the scan that satisfies the filters right above it gives the plan a row
            with its keys.
        rowwise: Each row of the plan is made of at most one row of the scan.
        sole_source: No row of the plan is made of none.
        growing: Of a part of the scan's rows, the plan gives no keys that it does not give of all.
        joins: The kinds of the joins on the way, from above.
        definitions: What is computed on the way, where `rows_wanted` was given.
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
    """The ways from keys, expressions over the plan's attributes, to scans.

    Args:
        plan: Where to start.
        keys: None at all where a condition may be on anything: for LIMIT, which asks for any rows.
        rows_wanted: How many rows are enough, and which they are does not matter; None where it does.
    """
    if keys and all(key is None for key in keys):
        return
    match plan:
        case Scan():
            here = tuple(_key_below(key, plan.columns) for key in keys)
            if not keys or any(key is not None for key in here):
                yield KeyPath(scan=plan, keys=here)
        case Filter(child):
            for way in key_paths(child, keys, rows_wanted=rows_wanted):
                # Filters right above a scan are part of what is asked of its blocks.
                yield way if is_filtered_scan(child) else _path_below_filter(way)
        case Project(child, definitions):
            below = tuple(_key_below(key, definitions) for key in keys)
            computed = () if rows_wanted is None else tuple(_computed_definitions(definitions))
            for way in key_paths(child, below, rows_wanted=rows_wanted):
                yield replace(way, definitions=(*computed, *way.definitions))
        case Join():
            yield from _paths_through_join(plan, keys, rows_wanted)
        case Aggregate(child, definitions) if keys:
            below = tuple(_key_below(key, definitions) for key in keys)
            for way in key_paths(child, below):
                yield replace(way, rowwise=False)
        case Window(child, partition_by, limited) if keys:
            below = tuple(_key_within(key, partition_by) for key in keys)
            for way in key_paths(child, below):
                yield replace(way, rowwise=False, preserving=way.preserving and not limited)
        case Sort(child) if rows_wanted is None:
            yield from key_paths(child, keys)
        case Exchange(child):
            yield from key_paths(child, keys, rows_wanted=rows_wanted)
        case Limit(child, count) if rows_wanted is not None and count >= rows_wanted:
            yield from key_paths(child, keys, rows_wanted=rows_wanted)
        case Union(branches, definitions):
            for branch, defined in zip(branches, definitions, strict=True):
                below = tuple(_key_below(key, defined) for key in keys)
                for way in key_paths(branch, below, rows_wanted=rows_wanted):
                    yield replace(way, sole_source=False)


def _path_below_filter(way: KeyPath) -> KeyPath:
    """A filter may drop the way's rows; or a group that it keeps of all rows, and drops of a part."""
    return replace(way, preserving=False, monotone=way.monotone and way.rowwise)


def _paths_through_join(join: Join, keys: Keys, rows_wanted: int | None) -> Iterator[KeyPath]:
    sides = {"left": (join.left, join.left_attributes), "right": (join.right, join.right_attributes)}
    computed = () if rows_wanted is None else join.condition
    for side in _OPEN_SIDES[join.kind]:
        child, attributes = sides[side]
        below = tuple(_key_within(key, attributes) for key in keys)
        for way in key_paths(child, below, rows_wanted=rows_wanted):
            behind = way if _PRESERVED.get(join.kind) == side else _path_below_filter(way)
            yield replace(
                behind,
                monotone=behind.monotone and way.rowwise,
                joins=(join.kind, *way.joins),
                definitions=(*computed, *way.definitions),
            )


def _computed_definitions(definitions: Mapping[str, Expression]) -> Iterator[Expression]:
    return (definition for definition in definitions.values() if not isinstance(definition, Column))


def _key_below(key: Expression | None, definitions: Mapping[str, Expression]) -> Expression | None:
    """The key over what its attributes are defined by; None where that is not known of one of them."""
    if key is None or any(isinstance(part, Element | Quantified | Opaque) for part in walk(key)):
        return None
    replacements: dict[Expression, Expression] = {}
    for name, type_ in columns(key).items():
        definition = _attribute_definition(Column(name, type_), definitions)
        if definition is None:
            return None
        replacements[Column(name, type_)] = definition
    found = substitute(key, replacements)
    return found if type_of(found).has_bounds else None


def _attribute_definition(attribute: Column, definitions: Mapping[str, Expression]) -> Expression | None:
    """What an attribute is, or a field of one that is a column itself."""
    field = _FIELD.fullmatch(attribute.name)
    if field is None:
        return definitions.get(attribute.name)
    struct = definitions.get(field[1])
    if not isinstance(struct, Column):
        return None
    return Column(f"{quoted_path(struct.name)}.{field[2]}", attribute.type)


def _key_within(key: Expression | None, attributes: frozenset[str]) -> Expression | None:
    """The key where all its attributes are among these."""
    return key if key is not None and set(_attribute_names(key)) <= attributes else None


def _attribute_names(key: Expression) -> Iterator[str]:
    for name in columns(key):
        field = _FIELD.fullmatch(name)
        yield name if field is None else field[1]
