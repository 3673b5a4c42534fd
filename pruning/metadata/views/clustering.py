"""The overlap of blocks in one column, by their bounds."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PICTURE_WIDTH = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """The overlap in one column of the row groups whose bounds are both known.

    `depth` is the number of row groups whose range contains a bound, averaged over all bounds: 1 where none
    overlap, the number of row groups where all do. `picture` has the number of row groups whose range
    contains a value, for values from the least to the greatest.
    """

    depth: float
    picture: tuple[int, ...]


def clustering(minima: pa.Array, maxima: pa.Array) -> Clustering | None:
    """Return the overlap of blocks from their bounds, each of shape (blocks,); None if no block has both."""
    is_bounded = pc.and_(pc.is_valid(minima), pc.is_valid(maxima))
    bounds = pa.concat_arrays([minima.filter(is_bounded), maxima.filter(is_bounded)])
    if len(bounds) == 0:
        return None
    # Only the order of bounds matters: replace bounds of any type by their ranks.
    ordered = bounds.cast(pa.uint8()) if pa.types.is_boolean(bounds.type) else bounds
    places = pc.rank(ordered, tiebreaker="dense").to_numpy().astype(np.int64)
    lowest, highest = np.sort(places[: len(places) // 2]), np.sort(places[len(places) // 2 :])

    def holding(points: np.ndarray) -> np.ndarray:
        return np.searchsorted(lowest, points, "right") - np.searchsorted(highest, points, "left")

    distinct = np.unique(places)
    sampled = distinct[np.linspace(0, len(distinct) - 1, min(PICTURE_WIDTH, len(distinct))).astype(np.int64)]
    return Clustering(depth=float(holding(places).mean()), picture=tuple(map(int, holding(sampled))))
