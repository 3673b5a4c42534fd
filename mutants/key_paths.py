"""Paths from keys to scans, and joins that drop rows, of which one thing is wrong each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mutants.replacements import Replacement
from pruning.expressions.plans import JoinKind
from pruning.techniques.plan import reachability, sites
from pruning.techniques.plan.reachability import KeyPath


def _open_sides(kind: JoinKind) -> Replacement:
    sides = {**reachability._OPEN_SIDES, kind: ("left", "right")}
    return Replacement(reachability, "_OPEN_SIDES", sides)


def _preserving_left(kind: JoinKind) -> Replacement:
    return Replacement(reachability, "_PRESERVED", {**reachability._PRESERVED, kind: "left"})


def _without(change: Mapping[str, object]) -> Callable[..., KeyPath]:
    """Return a function that replaces fields of a path, unless by this very change."""

    def replace_others(path: KeyPath, **changes: Any) -> KeyPath:
        return path if changes == change else replace(path, **changes)

    return replace_others


# Of paths.
MUTANTS: Mapping[str, Replacement] = {
    "the side that an outer join extends is open": _open_sides(JoinKind.LEFT),
    "a full outer join is open": _open_sides(JoinKind.FULL),
    "an inner join preserves rows": _preserving_left(JoinKind.INNER),
    "a semi join preserves rows": _preserving_left(JoinKind.SEMI),
    "an anti join preserves rows": _preserving_left(JoinKind.ANTI),
    "any key is seen through a window": Replacement(reachability, "_key_within", lambda key, attributes: key),
    "a filter drops nothing": Replacement(reachability, "_path_below_filter", lambda path: path),
    "groups are rows": Replacement(reachability, "replace", _without({"rowwise": False})),
    "branches of a union are all of it": Replacement(
        reachability, "replace", _without({"sole_source": False})
    ),
}

# Of joins: rows are left out of a side that the join keeps, or NULL has no partner.
BOTH_SIDES_PRUNABLE: Mapping[JoinKind, Replacement] = {
    kind: Replacement(sites, "_PRUNABLE", {**sites._PRUNABLE, kind: ("left", "right")})
    for kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.ANTI, JoinKind.EXISTENCE)
}
NULL_SAFETY_FORGOTTEN = Replacement(sites.JoinSite, "null_safe", property(lambda site: (False,)))
