"""Coverings: of a block's points, a few cells of the globe that hold them all ([M] 5.3.10).

A cell is one of S2's, a quarter of a quarter of ... a face of a cube around the globe; a cell's id
tells the range of the ids of all within. A covering is a list of ids, ascending, and one id more that
is no cell's where the block has rows that are no points. What rows have NULL is in none.

Block metadata may have a field beside `columns`:

====================  ======================  ====================================================
coverings             struct                  a list of uint64 for each pair of columns of doubles,
                                              by both names; null is "unknown", never "none"
====================  ======================  ====================================================

Cells are the library s2geometry's. Without it no coverings are made, and nothing is claimed of them.
Two coverings of the same points may differ, so they are never compared.
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
# Of a block. Points all around the globe take six cells, whatever is allowed; `NO_POINTS` is one more.
CELLS_MAX = 16
# Of a region that is asked for, once a query, and of each of its parts.
REGION_CELLS_MAX, PART_CELLS_MIN = 128, 8
# S2's sentinel, above every cell: here, rows that are no points.
NO_POINTS = (1 << 64) - 1
# A ten-thousandth of a millimetre. Cells of a point and of a region round differently, by far less.
PADDING_DEGREES = 1e-9

_KEY = re.compile(r"`((?:[^`]|``)*)`,`((?:[^`]|``)*)`")
_log = logging.getLogger(__name__)


def available() -> bool:
    """Whether the library that knows the cells is installed."""
    return find_spec("s2geometry") is not None


def covering(latitudes: pa.Array, longitudes: pa.Array, *, cells_max: int = CELLS_MAX) -> list[int] | None:
    """The covering of a block's points; None where the columns are not of doubles.

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
    cells = _covered(s2, union, cells_max) if len(points) else []
    return cells if len(points) == len(rows) else [*cells, NO_POINTS]


def may_be_inside(coverings: pa.ListArray, region: Region, start: int, size: int) -> pa.BooleanArray:
    """Whether a row may be in the region, for each of `size` blocks from `start` on.

    Claim     A block with a row in the region is TRUE; so is one whose covering is not known.
    Premises  The coverings are what `covering` gives, of the rows or of more rows.
    Proof     The row's leaf cell is in one of the block's cells, and in one of the region's. So the two
              have ids of leaves in common, and the block's range of ids meets one of the region's.
    """
    runs = _runs(region)
    lists = coverings.slice(start, size)
    if runs is None:
        return pa.repeat(True, len(lists))
    offsets = lists.offsets.to_numpy()
    first, last = _leaves(lists.values.slice(offsets[0], offsets[-1] - offsets[0]).to_numpy())
    place = np.searchsorted(runs[1], first)
    meets = np.append(runs[0], NO_POINTS)[place] <= last
    meets &= place < len(runs[1])
    counts = np.concatenate([[0], np.cumsum(meets)])[offsets - offsets[0]]
    return pc.or_(pa.array(np.diff(counts) > 0), lists.is_null())


def with_coverings(metadata: pa.Table, lists: Mapping[CoordinatePair, pa.ListArray]) -> pa.Table:
    """Block metadata with the coverings of its blocks, a list for each, and no others."""
    names = [_key(pair) for pair in lists]
    if FIELD in metadata.column_names:
        metadata = metadata.drop_columns([FIELD])
    if not names:
        return metadata
    struct = pa.StructArray.from_arrays([array.cast(LISTS) for array in lists.values()], names=names)
    return metadata.append_column(FIELD, struct)


def coverings_of(metadata: pa.Table) -> dict[CoordinatePair, pa.ListArray]:
    """The coverings that block metadata has, each in one piece."""
    if FIELD not in metadata.column_names:
        return {}
    struct = whole(metadata.column(FIELD))
    found = {}
    for field in struct.type:
        names = _KEY.fullmatch(field.name)
        if names is not None and field.type == LISTS:
            pair = CoordinatePair(*(name.replace("``", "`") for name in names.groups()))
            found[pair] = field_of(struct, field.name)
    return found


def _key(pair: CoordinatePair) -> str:
    return ",".join(map(quoted_name, (pair.latitude, pair.longitude)))


def _library() -> Any:
    if not available():
        raise InputError("Coverings need the package s2geometry: run `pip install 'skipproof[geo]'`.")
    import s2geometry

    return s2geometry


def _covered(s2: Any, region: Any, cells_max: int) -> list[int]:
    """The ids of cells that hold the region, ascending."""
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(cells_max)
    return sorted(cell.id() for cell in coverer.GetCovering(region))


def _leaves(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest id of a leaf in each cell: below an id's lowest bit, all is within."""
    below = (cells & (~cells + np.uint64(1))) - np.uint64(1)
    return cells - below, cells + below


@functools.lru_cache(maxsize=64)
def _runs(region: Region) -> tuple[np.ndarray, np.ndarray] | None:
    """The leaves of a region as disjoint ranges of ids, ascending: their first and their last ids."""
    if not available():
        _log.warning("s2geometry is not installed: coverings are not used, so no block is skipped by them")
        return None
    parts = list(_parts(_library(), region))
    cells_max = max(REGION_CELLS_MAX // max(len(parts), 1), PART_CELLS_MIN)
    cells = {cell for part in parts for cell in _covered(_library(), part, cells_max)}
    if isinstance(region, Box) and region.no_points:
        cells.add(NO_POINTS)
    if not cells:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    first, last = _leaves(np.array(list(cells), np.uint64))
    order = np.argsort(first)
    first, last = first[order], last[order]
    # Two cells are apart, or one is within the other.
    begins = np.append(True, first[1:] > np.maximum.accumulate(last)[:-1])
    return first[begins], np.maximum.reduceat(last, np.flatnonzero(begins))


def _parts(s2: Any, region: Region) -> Iterator[Any]:
    """Regions of S2's that together hold each of the region's points, with room for rounding."""
    if isinstance(region, Cap):
        center = s2.S2LatLng.FromDegrees(region.latitude, region.longitude).ToPoint()
        yield s2.S2Cap(center, s2.S1Angle.Radians(min(region.radians, math.pi)))
    else:
        for (south, north), (west, east) in _rectangles(region):
            corners = s2.S2LatLng.FromDegrees(south, west), s2.S2LatLng.FromDegrees(north, east)
            yield s2.S2LatLngRect(*corners)


def _rectangles(box: Box) -> Iterator[tuple[Interval, Interval]]:
    """Latitudes and longitudes that together hold each point of the box and what lies next to it.

    Near a pole, rounding may move a point by many degrees of longitude, so there all are taken; and the
    meridians -180 and 180 are one.
    """
    longitudes = [
        part
        for west, east in _padded(box.longitudes, LONGITUDE_MAX)
        for part in longitude_intervals(west, east)
    ]
    for low, high in _padded(box.latitudes, LATITUDE_MAX) if longitudes else ():
        south, north = max(low, -LATITUDE_MAX), min(high, LATITUDE_MAX)
        yield from (((south, north), part) for part in longitudes)
        if north > POLAR_DEGREES:
            yield (max(south, POLAR_DEGREES), north), (-LONGITUDE_MAX, LONGITUDE_MAX)
        if south < -POLAR_DEGREES:
            yield (south, min(north, -POLAR_DEGREES)), (-LONGITUDE_MAX, LONGITUDE_MAX)


def _padded(intervals: Iterable[Interval], limit: float) -> Iterator[Interval]:
    """The intervals as far as they are on the globe, and a little beyond."""
    for low, high in intervals:
        if low <= limit and high >= -limit:
            yield max(low, -limit) - PADDING_DEGREES, min(high, limit) + PADDING_DEGREES
