"""The places of derived versions that the version orders leave out.

A derivation installs nothing, so that an order need not list the earlier derivations of a transaction, nor
those of one that aborts. A read of such a version is judged as if the order listed the version as late as
possible: before the first version that derives from anything newer. `docs/reference/histories.md` has the
rule.
"""

import numpy as np

from oracles.isolation.columns import Kind
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Ints, Lists, distinct, is_member, last_of_group


def places_of_unlisted(facts: Facts, versions: Ints) -> Ints:
    """Return for each derived version the index in its object's order of the version before which it belongs.

    Args:
        versions: Distinct derived versions that are in no order. Shape (n,).

    Returns:
        Indexes from 0 to the length of the order. Shape (n,).
    """
    columns = facts.columns
    width, objects = len(columns.objects), columns.object_of[versions]
    ages = _ages(facts)
    groups, heights, step, indexes = _rises(facts, distinct(objects), ages)
    places = columns.orders.lengths[objects]

    # The newest age of each object from which each version derives.
    owners, bases = facts.closure.expand(versions)
    keys, newest = _greatest(owners * width + columns.object_of[bases], ages[bases])
    owners, sources = keys // width, keys % width
    wanted = objects[owners] * width + sources
    listed = is_member(wanted, groups)
    owners, group = owners[listed], np.searchsorted(groups, wanted[listed])
    rise = np.searchsorted(heights, group * step + newest[listed], side="right")
    higher = rise < len(heights)
    higher[higher] = heights[rise[higher]] // step == group[higher]
    np.minimum.at(places, owners[higher], indexes[rise[higher]])

    # For objects from which a version does not derive, the first place at which any of them appears.
    firsts = indexes[np.searchsorted(heights, np.arange(len(groups), dtype=np.int64) * step)]
    arrival = np.lexsort((firsts, groups // width))
    starts, stops = (np.searchsorted(groups // width, objects, side=side) for side in ("left", "right"))
    stops = np.minimum(stops, starts + np.bincount(keys // width, minlength=len(versions)) + 1)
    owners, arrived = Lists(starts, stops, arrival).expand(np.arange(len(versions), dtype=np.int64))
    foreign = ~is_member(owners * width + groups[arrived] % width, keys)
    np.minimum.at(places, owners[foreign], firsts[arrived[foreign]])
    return places


def _ages(facts: Facts) -> Ints:
    """Return for each version the place in its order of what its transaction installed of the object.

    It is -1 for versions that nobody wrote, or whose writer did not commit.
    """
    columns = facts.columns
    writes = np.flatnonzero(columns.kind == Kind.WRITE)
    versions, writers = columns.subject[writes], facts.transaction_of[writes]
    keys = writers * len(columns.objects) + columns.object_of[versions]
    last = np.flatnonzero(last_of_group(keys))
    last = last[np.argsort(keys[last])]
    installed = versions[last[np.searchsorted(keys[last], keys)]]
    ages = np.full(len(columns.object_of), -1, np.int64)
    ages[versions] = np.where(facts.committed[writers], facts.position[installed], -1)
    return ages


def _greatest(keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys, ascending, each with the greatest of its values."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    last = last_of_group(keys)
    return keys[last], values[last]


def _rises(facts: Facts, objects: Ints, ages: Ints) -> tuple[Ints, Ints, int, Ints]:
    """Return the places in the orders of some objects where the newest age of a source rises.

    Returns:
        groups: The number of an object times the number of objects, plus an object from which one of its
                versions derives; ascending.
            heights: The index of a group times `step`, plus the age to which it rises; ascending.
            step: A number greater than any age by two or more.
            indexes: The index in the order of the version at each rise.
    """
    columns = facts.columns
    of_order, ordered = columns.orders.expand(objects)
    owners, bases = facts.closure.expand(ordered)
    written = ages[bases] >= 0
    owners, bases = owners[written], bases[written]
    groups, group = np.unique(
        objects[of_order[owners]] * len(columns.objects) + columns.object_of[bases], return_inverse=True
    )
    step = int(ages.max(initial=0)) + 2
    indexes = facts.position[ordered[owners]]
    order = np.lexsort((ages[bases], indexes, group))
    heights = np.maximum.accumulate(group[order].astype(np.int64) * step + ages[bases][order])
    rising = np.ones(len(heights), np.bool_)
    rising[1:] = heights[1:] > heights[:-1]
    return groups.astype(np.int64), heights[rising], step, indexes[order][rising]
