"""The places of derived versions that the version orders leave out.

A derivation installs nothing, so that an order need not list the earlier derivations of a transaction, nor
those of one that aborts. What is read of such a version is judged as if the order listed it as late as it
can stand: before the first version that derives from anything newer. `docs/reference/histories.md` has the
rule.
"""

import numpy as np

from oracles.isolation.columns import Kind
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Ints, Lists, contained, distinct, last_of_group


def places_left_out(known: Facts, versions: Ints) -> Ints:
    """Return for each derived version the index in its object's order of the version that it stands before.

    Args:
        versions: Derived versions that are in no order, each once. Shape (n,).

    Returns:
        Indexes from 0 to the length of the order. Shape (n,).
    """
    columns = known.columns
    width, objects = len(columns.objects), columns.object_of[versions]
    ages = _ages(known)
    groups, heights, step, indexes = _rises(known, distinct(objects), ages)
    places = columns.orders.lengths[objects]

    # Each object that a version derives from, with the newest age of it.
    owners, bases = known.closure.expand(versions)
    keys, newest = _greatest(owners * width + columns.object_of[bases], ages[bases])
    owners, sources = keys // width, keys % width
    wanted = objects[owners] * width + sources
    listed = contained(wanted, groups)
    owners, group = owners[listed], np.searchsorted(groups, wanted[listed])
    rise = np.searchsorted(heights, group * step + newest[listed], side="right")
    higher = rise < len(heights)
    higher[higher] = heights[rise[higher]] // step == group[higher]
    np.minimum.at(places, owners[higher], indexes[rise[higher]])

    # Objects that a version does not derive from at all: the first of them to turn up in the order.
    firsts = indexes[np.searchsorted(heights, np.arange(len(groups), dtype=np.int64) * step)]
    arrival = np.lexsort((firsts, groups // width))
    starts, stops = (np.searchsorted(groups // width, objects, side=side) for side in ("left", "right"))
    stops = np.minimum(stops, starts + np.bincount(keys // width, minlength=len(versions)) + 1)
    owners, arrived = Lists(starts, stops, arrival).expand(np.arange(len(versions), dtype=np.int64))
    foreign = ~contained(owners * width + groups[arrived] % width, keys)
    np.minimum.at(places, owners[foreign], firsts[arrived[foreign]])
    return places


def _ages(known: Facts) -> Ints:
    """For each version the place in its order of what its transaction installed of the object.

    It is -1 for versions that nobody wrote, or whose writer did not commit.
    """
    columns = known.columns
    writes = np.flatnonzero(columns.kind == Kind.WRITE)
    versions, writers = columns.subject[writes], known.transaction_of[writes]
    keys = writers * len(columns.objects) + columns.object_of[versions]
    last = np.flatnonzero(last_of_group(keys))
    last = last[np.argsort(keys[last])]
    installed = versions[last[np.searchsorted(keys[last], keys)]]
    ages = np.full(len(columns.object_of), -1, np.int64)
    ages[versions] = np.where(known.committed[writers], known.position[installed], -1)
    return ages


def _greatest(keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    """The distinct keys, ascending, each with the greatest of its values."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    last = last_of_group(keys)
    return keys[last], values[last]


def _rises(known: Facts, objects: Ints, ages: Ints) -> tuple[Ints, Ints, int, Ints]:
    """The places along the orders of some objects where the newest age that a version derives from rises.

    Returns:
        groups: An object times the number of objects, plus an object that one of its versions derives from,
            ascending.
        heights: The index of a group times `step`, plus the age that it rises to, ascending.
        step: A number greater than any age by two or more.
        indexes: The index in the order of the version at each rise.
    """
    columns = known.columns
    of_order, ordered = columns.orders.expand(objects)
    owners, bases = known.closure.expand(ordered)
    written = ages[bases] >= 0
    owners, bases = owners[written], bases[written]
    groups, group = np.unique(
        objects[of_order[owners]] * len(columns.objects) + columns.object_of[bases], return_inverse=True
    )
    step = int(ages.max(initial=0)) + 2
    indexes = known.position[ordered[owners]]
    order = np.lexsort((ages[bases], indexes, group))
    heights = np.maximum.accumulate(group[order].astype(np.int64) * step + ages[bases][order])
    rising = np.ones(len(heights), np.bool_)
    rising[1:] = heights[1:] > heights[:-1]
    return groups.astype(np.int64), heights[rising], step, indexes[order][rising]
