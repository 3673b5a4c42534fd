"""Parts of coverings of points on the globe that are wrong in one way each.

Each takes the place of a function of `pruning.metadata.table.coverings`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pruning.metadata.table import coverings
from pruning.rules.sets.regions import Interval


def each_end_turned(west: float, east: float) -> tuple[Interval, ...]:
    """Turn each end by itself, so that a box around the globe becomes a sliver."""
    return (((west + 180) % 360 - 180, (east + 180) % 360 - 180),)


def west_to_east(s2: Any, region: Any) -> Iterator[Any]:
    """Take the meridian with the greater number for the eastern one."""
    for (south, north), (west, east) in coverings._rectangles(region):
        yield s2.S2LatLngRect(s2.S2LatLng.FromDegrees(south, east), s2.S2LatLng.FromDegrees(north, west))


def first_cells(s2: Any, region: Any, cells_max: int) -> list[int]:
    """Cut a covering of many cells to the most that are wanted."""
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(1_000)
    return sorted(cell.id() for cell in coverer.GetCovering(region))[:cells_max]


def cells_as_leaves(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take the ids of cells for ids of leaves."""
    return cells, cells
