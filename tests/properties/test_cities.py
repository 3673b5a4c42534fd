"""COVER-2 and COVER-3: real points. Coverings against every city, and how many blocks a box skips."""

import math

import numpy as np
import pyarrow as pa
import pytest
from needs import needs_s2

from pruning.errors import InputError
from pruning.metadata.table.coverings import CELL_BYTES, CELLS_MAX, LISTS, covering, may_be_inside
from pruning.rules.sets.regions import Box, Cap
from skipproof.commands.cities import cities

pytestmark = needs_s2

BLOCK_ROWS = 500
NEW_YORK = Box(latitudes=((40.5, 40.9),), longitudes=((-74.25, -73.7),))
BOXES = {
    "New York": NEW_YORK,
    "one city": Box(latitudes=((42.57952, 42.57952),), longitudes=((1.65362, 1.65362),)),
    "across the meridian 180": Box(
        latitudes=((-20.0, -10.0),), longitudes=((-180.0, -175.0), (175.0, 180.0))
    ),
    "around the pole": Box(latitudes=((70.0, 90.0),), longitudes=((-180.0, 180.0),)),
    "the southern half": Box(latitudes=((-math.inf, 0.0),), longitudes=((-180.0, math.inf),), no_points=True),
    "two latitudes and two longitudes": Box(
        latitudes=((35.0, 36.0), (48.0, 49.0)), longitudes=((2.0, 3.0), (139.0, 140.0))
    ),
    "near Paris": Cap(latitude=48.8566, longitude=2.3522, meters=30_000).box(),
    "near Fiji": Cap(latitude=-17.7134, longitude=179.9, meters=400_000).box(),
}


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    """Latitude and longitude of each city, as shipped."""
    try:
        table = cities()
    except InputError as error:
        pytest.skip(str(error))
    return np.column_stack([table["lat"].to_numpy(), table["lon"].to_numpy()])


@pytest.fixture(scope="module")
def by_cell(points: np.ndarray) -> np.ndarray:
    """The same in the order of their leaf cells."""
    leaves = [covering(pa.array([north]), pa.array([east])) for north, east in points.tolist()]
    return points[np.argsort(np.array(leaves, np.uint64)[:, 0], kind="stable")]


def blocks_of(points: np.ndarray) -> list[np.ndarray]:
    return [points[start : start + BLOCK_ROWS] for start in range(0, len(points), BLOCK_ROWS)]


def coverings(blocks: list[np.ndarray]) -> pa.ListArray:
    return pa.array([covering(pa.array(rows[:, 0]), pa.array(rows[:, 1])) for rows in blocks], LISTS)


def matching(blocks: list[np.ndarray], box: Box) -> np.ndarray:
    """Whether each block holds a city in the box."""
    sides = (box.latitudes, box.longitudes)
    return np.array(
        [
            np.all(
                [
                    np.any([(low <= side) & (side <= high) for low, high in intervals], axis=0)
                    for side, intervals in zip(rows.T, sides, strict=True)
                ],
                axis=0,
            ).any()
            for rows in blocks
        ]
    )


def kept(lists: pa.ListArray, box: Box) -> np.ndarray:
    return np.array(may_be_inside(lists, box, 0, len(lists)).to_pylist())


@pytest.mark.parametrize("order", ["points", "by_cell"])
def test_no_block_with_a_city_in_a_box_is_excluded(order: str, request: pytest.FixtureRequest) -> None:
    """COVER-2."""
    blocks = blocks_of(request.getfixturevalue(order))
    lists = coverings(blocks)
    for name, box in BOXES.items():
        needed = matching(blocks, box)
        assert needed.any(), name
        assert not (needed & ~kept(lists, box)).any(), name


@pytest.mark.parametrize(("order", "share"), [("by_cell", 0.99), ("points", 0.95)])
def test_a_box_around_new_york_skips_nearly_all_blocks(
    order: str, share: float, request: pytest.FixtureRequest
) -> None:
    """COVER-3. For at most `CELLS_MAX` cells of 8 bytes a block."""
    lists = coverings(blocks_of(request.getfixturevalue(order)))
    assert 1 - kept(lists, NEW_YORK).mean() >= share
    assert len(lists.values) * CELL_BYTES <= CELLS_MAX * CELL_BYTES * len(lists)
