"""Coverings: for each block, a few cells of the globe that contain all its points ([M] 5.3.10).

A cell is one of S2's: a face of a cube around the globe, divided into quarters repeatedly. A cell's id
gives the range of the ids of all cells inside. A covering is an ascending list of ids, with an extra id
(`NO_POINTS`) if the block has rows that are not points. Rows with NULL are not covered.

Block metadata may have a field beside `columns`:

====================  ======================  ====================================================
coverings             struct                  a list of uint64 for each pair of columns of doubles,
                                              by both names; null is "unknown", never "none"
====================  ======================  ====================================================

The library s2geometry computes the cells. Without it, no coverings are made, and existing ones are not
used. Two coverings of the same points may differ, so they are never compared.
"""

import functools
import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.metadata.table.structs import field_of, whole
from pruning.rules.sets.regions import (
    LATITUDE_MAX,
    LONGITUDE_MAX,
    POLAR_DEGREES,
    Box,
    Cap,
    CoordinatePair,
    Interval,
    Region,
    longitude_intervals,
)

FIELD = "coverings"
LISTS = pa.list_(pa.uint64())
CELL_BYTES = 8
# The most cells of a block. Points all around the globe take six cells even if fewer are allowed, and
# `NO_POINTS` is an extra one.
CELLS_MAX = 16
# The most cells of a query's region, and the fewest that each of its parts may have.
REGION_CELLS_MAX, PART_CELLS_MIN = 128, 8
# S2's sentinel, above every cell; here it stands for rows whose latitude or longitude is out of range or NaN.
NO_POINTS = (1 << 64) - 1
# About a ten-thousandth of a metre: far more than the difference in rounding between points and regions.
PADDING_DEGREES = 1e-9

_KEY = re.compile(r"`((?:[^`]|``)*)`,`((?:[^`]|``)*)`")
_log = logging.getLogger(__name__)


def is_available() -> bool:
    """Tell whether the library s2geometry is installed."""
    return find_spec("s2geometry") is not None


def covering(latitudes: pa.Array, longitudes: pa.Array, *, cells_max: int = CELLS_MAX) -> list[int] | None:
    """Return the covering of a block's points; None if the columns are not doubles.

    Claim     Each row without NULL is in one of the cells, or is no point and `NO_POINTS` is there.
    Proof     The leaf cell of each point is in the union that S2 covers.

    Raises:
        InputError: s2geometry is not installed.
    """
    if not (latitudes.type == longitudes.type == pa.float64()):
        return None
    s2 = _library()
    both = pc.and_(pc.is_valid(latitudes), pc.is_valid(longitudes))
    rows = np.column_stack([latitudes.filter(both).to_numpy(), longitudes.filter(both).to_numpy()])
    points = rows[(np.abs(rows) <= (LATITUDE_MAX, LONGITUDE_MAX)).all(axis=1)]
    union = s2.S2CellUnion()
    union.Init([s2.S2CellId(s2.S2LatLng.FromDegrees(*point)).id() for point in points.tolist()])
    cells = _covering_cells(s2, union, cells_max) if len(points) else []
    return cells if len(points) == len(rows) else [*cells, NO_POINTS]


def may_be_inside(coverings: pa.ListArray, region: Region, start: int, size: int) -> pa.BooleanArray:
    """Tell whether a row may be in the region, for each of `size` blocks from `start` on.

    Claim     A block with a row in the region is TRUE; so is one whose covering is unknown.
    Premises  The coverings are those that `covering` returns for the rows, or for more rows.
    Proof     The row's leaf cell is in one of the block's cells, and in one of the region's. So the two
              have ids of leaves in common, and the block's range of ids meets one of the region's.
    """
    runs = _leaf_ranges(region)
    lists = coverings.slice(start, size)
    if runs is None:
        return pa.repeat(True, len(lists))
    offsets = lists.offsets.to_numpy()
    first, last = _leaf_range(lists.values.slice(offsets[0], offsets[-1] - offsets[0]).to_numpy())
    place = np.searchsorted(runs[1], first)
    meets = np.append(runs[0], NO_POINTS)[place] <= last
    meets &= place < len(runs[1])
    counts = np.concatenate([[0], np.cumsum(meets)])[offsets - offsets[0]]
    return pc.or_(pa.array(np.diff(counts) > 0), lists.is_null())


def with_coverings(metadata: pa.Table, lists: Mapping[CoordinatePair, pa.ListArray]) -> pa.Table:
    """Return block metadata with these coverings, a list for each block, in place of any others."""
    names = [_key(pair) for pair in lists]
    if FIELD in metadata.column_names:
        metadata = metadata.drop_columns([FIELD])
    if not names:
        return metadata
    struct = pa.StructArray.from_arrays([array.cast(LISTS) for array in lists.values()], names=names)
    return metadata.append_column(FIELD, struct)


def coverings_of(metadata: pa.Table) -> dict[CoordinatePair, pa.ListArray]:
    """Return the coverings in block metadata, each as one array."""
    if FIELD not in metadata.column_names:
        return {}
    struct = whole(metadata.column(FIELD))
    coverings = {}
    for field in struct.type:
        names = _KEY.fullmatch(field.name)
        if names is not None and field.type == LISTS:
            pair = CoordinatePair(*(name.replace("``", "`") for name in names.groups()))
            coverings[pair] = field_of(struct, field.name)
    return coverings


def _key(pair: CoordinatePair) -> str:
    return ",".join(map(quoted_name, (pair.latitude, pair.longitude)))


def _library() -> Any:
    if not is_available():
        raise InputError("Coverings need the package s2geometry: run `pip install 'skipproof[geo]'`.")
    import s2geometry

    return s2geometry


def _covering_cells(s2: Any, region: Any, cells_max: int) -> list[int]:
    """Return the ids of cells that contain the region, ascending."""
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(cells_max)
    return sorted(cell.id() for cell in coverer.GetCovering(region))


def _leaf_range(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest leaf id in each cell, which differ below the id's lowest set bit."""
    below = (cells & (~cells + np.uint64(1))) - np.uint64(1)
    return cells - below, cells + below


@functools.lru_cache(maxsize=64)
def _leaf_ranges(region: Region) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the leaf cells of a region as disjoint ascending ranges: their first and last ids."""
    if not is_available():
        _log.warning("s2geometry is not installed: coverings are not used, so no block is skipped by them")
        return None
    parts = list(_s2_regions(_library(), region))
    cells_max = max(REGION_CELLS_MAX // max(len(parts), 1), PART_CELLS_MIN)
    cells = {cell for part in parts for cell in _covering_cells(_library(), part, cells_max)}
    if isinstance(region, Box) and region.no_points:
        cells.add(NO_POINTS)
    if not cells:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    first, last = _leaf_range(np.array(list(cells), np.uint64))
    order = np.argsort(first)
    first, last = first[order], last[order]
    # Two cells are either disjoint, or one contains the other.
    begins = np.append(True, first[1:] > np.maximum.accumulate(last)[:-1])
    return first[begins], np.maximum.reduceat(last, np.flatnonzero(begins))


def _s2_regions(s2: Any, region: Region) -> Iterator[Any]:
    """Yield S2 regions that together contain each point of the region, with a margin for rounding."""
    if isinstance(region, Cap):
        center = s2.S2LatLng.FromDegrees(region.latitude, region.longitude).ToPoint()
        yield s2.S2Cap(center, s2.S1Angle.Radians(min(region.radians, math.pi)))
    else:
        for (south, north), (west, east) in _rectangles(region):
            corners = s2.S2LatLng.FromDegrees(south, west), s2.S2LatLng.FromDegrees(north, east)
            yield s2.S2LatLngRect(*corners)


def _rectangles(box: Box) -> Iterator[tuple[Interval, Interval]]:
    """Yield intervals of latitude and longitude that together contain the box with a margin.

    Near a pole, rounding may move a point by many degrees of longitude, so all longitudes are included
    there. The meridians -180 and 180 are the same.
    """
    longitudes = [
        part for west, east in _pad(box.longitudes, LONGITUDE_MAX) for part in longitude_intervals(west, east)
    ]
    for low, high in _pad(box.latitudes, LATITUDE_MAX) if longitudes else ():
        south, north = max(low, -LATITUDE_MAX), min(high, LATITUDE_MAX)
        yield from (((south, north), part) for part in longitudes)
        if north > POLAR_DEGREES:
            yield (max(south, POLAR_DEGREES), north), (-LONGITUDE_MAX, LONGITUDE_MAX)
        if south < -POLAR_DEGREES:
            yield (south, min(north, -POLAR_DEGREES)), (-LONGITUDE_MAX, LONGITUDE_MAX)


def _pad(intervals: Iterable[Interval], limit: float) -> Iterator[Interval]:
    """Yield the parts of the intervals that are on the globe, extended by the padding."""
    for low, high in intervals:
        if low <= limit and high >= -limit:
            yield max(low, -limit) - PADDING_DEGREES, min(high, limit) + PADDING_DEGREES
