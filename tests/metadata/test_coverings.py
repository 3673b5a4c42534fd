"""Coverings never lose a row: whatever is in the region asked for is in a block that stays."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from needs import needs_s2
from searches import find

from mutants.metadata.coverings import cells_as_leaves, each_end_turned, first_cells, west_to_east
from pruning.errors import InputError
from pruning.metadata.table import coverings
from pruning.metadata.table.coverings import (
    CELLS_MAX,
    LISTS,
    NO_POINTS,
    covering,
    coverings_of,
    may_be_inside,
    with_coverings,
)
from pruning.rules.sets.regions import EARTH_RADIUS_METERS, Box, Cap, CoordinatePair, Interval, Region

Row = tuple[float | None, float | None]

# Kept as they were found: rows at a corner of a box in whose cells S2 alone does not put them, and the
# box's south, north, west and east.
ON_THE_EDGE = [
    (
        (89.51245087543721, -133.1097412703379),
        (89.51245087543721, 89.51245087543721, -133.1097412703379, -133.1097412703379),
    ),
    (
        (89.6602642355156, -159.91864702052186),
        (89.6602642355156, 89.6602642355156, -159.91864702052186, -159.91864702052186),
    ),
    (
        (89.65240836569563, -168.0134187761607),
        (89.65240836569563, 89.65240836569563, -168.0134187910415, -168.0134187761607),
    ),
]
BESIDE_THE_POLE = [
    (
        (89.99999204543292, -169.69515438364152),
        (89.99999193458419, 89.99999204543292, -169.69515438364152, -169.69515438364152),
    ),
    (
        (89.99995628673405, -143.20470936434992),
        (89.99995628673405, 89.99995628673405, -143.20522711951227, -143.20470936434992),
    ),
]
Edges = tuple[float, float, float, float]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What a region's cells are is remembered; a test may change how they are found."""
    coverings._leaf_ranges.cache_clear()
    yield
    coverings._leaf_ranges.cache_clear()


def lists_of(blocks: Sequence[Sequence[Row]], *, cells_max: int = CELLS_MAX) -> pa.ListArray:
    columns = [[pa.array([row[side] for row in rows], pa.float64()) for side in (0, 1)] for rows in blocks]
    return pa.array([covering(*sides, cells_max=cells_max) for sides in columns], LISTS)


def stays(rows: Sequence[Row], region: Region) -> bool:
    return bool(may_be_inside(lists_of([rows]), region, 0, 1)[0].as_py())


def box(south: float, north: float, west: float, east: float, *, no_points: bool = False) -> Box:
    return Box(latitudes=((south, north),), longitudes=((west, east),), no_points=no_points)


def satisfies(row: Row, region: Box) -> bool:
    """As plain comparisons see it."""
    return all(
        value is not None and any(low <= value <= high for low, high in intervals)
        for value, intervals in zip(row, (region.latitudes, region.longitudes), strict=True)
    )


LATITUDES = st.one_of(
    st.sampled_from([-90.0, -89.9, 0.0, -0.0, 45.0, 89.9, 89.9999999, 90.0]), st.floats(-90, 90)
)
LONGITUDES = st.one_of(st.sampled_from([-180.0, -179.9999999, -90.0, 0.0, 45.0, 180.0]), st.floats(-180, 180))
ODD = st.sampled_from([None, math.nan, math.inf, -math.inf, 90.5, -91.0, 180.5, -500.0, 0.0])
ROWS = st.tuples(LATITUDES, LONGITUDES) | st.tuples(LATITUDES | ODD, LONGITUDES | ODD)


@st.composite
def intervals(draw: st.DrawFn, edge: float, limit: float) -> tuple[Interval, ...]:
    """Intervals of which one begins or ends at the value given, or holds it, or all of the globe's.

    Shrinks to the value alone.
    """
    if draw(st.integers(0, 5)) == 5:
        return ((-limit, limit),)
    wide = st.sampled_from([0.0, 1e-12, 1e-6, 1.0, 100.0, 400.0]) | st.floats(0, 50)
    below, above = draw(st.sampled_from([(0, 0), (0, 1), (1, 0), (1, 1)]))
    found = [(edge - below * draw(wide), edge + above * draw(wide))]
    if draw(st.booleans()):
        other = draw(st.floats(-limit, limit))
        found.append((other, other + draw(wide)))
    return tuple(found)


@st.composite
def boxes(draw: st.DrawFn, row: Row) -> Box:
    """Boxes at whose edge, or within which, the row's numbers lie; open to rows that are none as said."""
    numbers = [0.0 if value is None or not math.isfinite(value) else value for value in row]
    latitudes, longitudes = draw(intervals(numbers[0], 90)), draw(intervals(numbers[1], 180))
    beyond = any(abs(end) > 90 for part in latitudes for end in part)
    beyond |= any(abs(end) > 180 for part in longitudes for end in part)
    return Box(latitudes=latitudes, longitudes=longitudes, no_points=beyond)


@st.composite
def asked_blocks(draw: st.DrawFn) -> tuple[list[Row], Box]:
    """A block's rows, and a box that one of them or a number like it is at the edge of."""
    rows = draw(st.lists(ROWS, max_size=5))
    return rows, draw(boxes(draw(st.sampled_from(rows)) if rows else (0.0, 0.0)))


@needs_s2
@examples(10)
@given(asked=asked_blocks(), cells_max=st.integers(1, CELLS_MAX))
def test_a_block_with_a_row_in_the_box_is_never_excluded(
    asked: tuple[list[Row], Box], cells_max: int
) -> None:
    """COVER-1. Rows that are no points among them, where the box is open to those."""
    rows, region = asked
    (flag,) = may_be_inside(lists_of([rows], cells_max=cells_max), region, 0, 1).to_pylist()
    assert flag or not any(satisfies(row, region) for row in rows)


@needs_s2
@examples(10)
@given(
    latitude=LATITUDES,
    longitude=LONGITUDES,
    meters=st.sampled_from([0.0, 1e-3, 1e3, 5e6, 2e7]) | st.floats(0, 2.1e7),
    rows=st.lists(st.tuples(LATITUDES, LONGITUDES), min_size=1, max_size=4),
)
def test_a_block_with_a_point_in_the_cap_is_never_excluded(
    latitude: float, longitude: float, meters: float, rows: list[Row]
) -> None:
    """COVER-1 of caps; the centre itself is a row too."""
    cap = Cap(latitude=latitude, longitude=longitude, meters=meters)
    assert stays([(latitude, longitude)], cap)
    assert stays(rows, cap) or min(_meters(cap, row) for row in rows) > meters


def _meters(cap: Cap, row: Any) -> float:
    north, center = math.radians(row[0]), math.radians(cap.latitude)
    rise, turn = math.sin((north - center) / 2), math.sin(math.radians(row[1] - cap.longitude) / 2)
    square = rise * rise + math.cos(north) * math.cos(center) * turn * turn
    return 2 * EARTH_RADIUS_METERS * math.asin(min(1.0, math.sqrt(square)))


@needs_s2
@pytest.mark.parametrize(
    ("rows", "region"),
    [
        ([(40.7, -74.0)], box(48, 49, 2, 3)),
        ([(40.7, -74.0), (51.5, 0.0)], box(44, 46, -40, -30)),
        ([(0.0, 179.0)], box(-1, 1, -180, -179)),
        ([(89.0, 10.0)], box(89.95, 90, -180, 180)),
        ([(None, 2.5), (48.5, None)], box(48, 49, 2, 3, no_points=True)),
        ([(math.nan, 2.5), (48.5, 200.0)], box(48, 49, 2, 3)),
        ([], box(-90, 90, -180, 180, no_points=True)),
        ([(40.7, -74.0)], box(91, 92, 2, 3, no_points=True)),
        ([(40.7, -74.0)], Cap(latitude=48.85, longitude=2.35, meters=100_000)),
    ],
)
def test_a_block_far_from_the_region_is_excluded(rows: list[Row], region: Region) -> None:
    """Reach: without it, COVER-1 could hold because nothing is ever excluded."""
    assert not stays(rows, region)


@needs_s2
@pytest.mark.parametrize(
    ("rows", "region"),
    [
        ([(0.0, 180.0)], box(-1, 1, 175, 180)),
        ([(0.0, -180.0)], box(-1, 1, -180, -175)),
        ([(90.0, 5.0)], box(90, 90, 5, 5)),
        ([(-90.0, 170.0)], box(-90, -89, 160, 175)),
        ([(math.nan, 2.5)], box(48, math.inf, 2, 3, no_points=True)),
        ([(48.5, 200.0)], box(48, 49, 2, 300, no_points=True)),
        ([(None, 1.0), (48.5, 2.5)], box(48, 49, 2, 3)),
        ([(0.0, -179.5)], Cap(latitude=0, longitude=179.9, meters=70_000)),
    ],
)
def test_a_block_at_an_end_of_the_globe_stays(rows: list[Row], region: Region) -> None:
    """Worked cases."""
    assert stays(rows, region)


@needs_s2
@pytest.mark.parametrize(("row", "edges"), [*ON_THE_EDGE, *BESIDE_THE_POLE])
def test_rows_that_rounding_puts_beside_their_box_stay(row: Row, edges: Edges) -> None:
    """COVER-1 of rows at the corners of cells."""
    assert satisfies(row, box(*edges))
    assert stays([row], box(*edges))


@needs_s2
@pytest.mark.parametrize(("row", "edges"), [*ON_THE_EDGE, *BESIDE_THE_POLE])
def test_without_padding_and_polar_caps_such_rows_are_lost(
    monkeypatch: pytest.MonkeyPatch, row: tuple[float, float], edges: Edges
) -> None:
    """The mutants without them. Beside the pole, polar caps alone would do."""
    monkeypatch.setattr(coverings, "PADDING_DEGREES", 0.0)
    if row[0] > coverings.POLAR_DEGREES:
        assert stays([row], box(*edges))
        coverings._leaf_ranges.cache_clear()
        monkeypatch.setattr(coverings, "POLAR_DEGREES", 91.0)
    assert not stays([row], box(*edges))


@needs_s2
@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("longitude_intervals", each_end_turned),
        ("_s2_regions", west_to_east),
        pytest.param("_covering_cells", first_cells, id="_covering_cells-truncated"),
        pytest.param("_leaf_range", cells_as_leaves, id="_leaf_range-alone"),
        ("PADDING_DEGREES", -1e-6),
    ],
)
def test_a_broken_covering_loses_a_row(monkeypatch: pytest.MonkeyPatch, name: str, mutant: Any) -> None:
    """COVER-1 kills each mutant."""
    monkeypatch.setattr(coverings, name, mutant)

    def lost(asked: tuple[list[Row], Box]) -> bool:
        coverings._leaf_ranges.cache_clear()
        rows, region = asked
        return any(satisfies(row, region) for row in rows) and not stays(rows, region)

    find(asked_blocks(), lost, settings=unshrunk(5_000))


@needs_s2
@pytest.mark.parametrize("row", [(math.nan, 2.5), (95.0, 2.5), (48.5, -181.0), (48.5, math.inf)])
def test_a_region_that_forgets_rows_that_are_no_points_loses_them(row: Row) -> None:
    """They are in no cell of the globe; beside points neither."""
    region = box(48, math.inf, -200, math.inf, no_points=True)
    for rows in ([row], [(40.7, -74.0), row]):
        assert stays(rows, replace(region, no_points=True))
    assert not stays([row], replace(region, no_points=False))


@needs_s2
def test_each_block_is_judged_by_its_own_cells() -> None:
    """In slices too, beside empty blocks and unknown ones."""
    paris, york, world = (48.85, 2.35), (40.7, -74.0), (-33.9, 151.2)
    lists = lists_of([[york], [], [paris, york], [paris], [world, york]])
    lists = pa.concat_arrays([lists.slice(0, 2), pa.array([None], LISTS), lists.slice(2)])
    expected = [False, False, True, True, True, False]
    region = box(48, 49, 2, 3)
    assert may_be_inside(lists, region, 0, 6).to_pylist() == expected
    assert may_be_inside(lists.slice(1), region, 0, 5).to_pylist() == expected[1:]
    for start in range(7):
        for size in range(7 - start):
            found = may_be_inside(lists, region, start, size)
            assert found.to_pylist() == expected[start : start + size]


@needs_s2
@examples(1)
@given(rows=st.lists(st.tuples(LATITUDES, LONGITUDES), min_size=1, max_size=60), cells_max=st.integers(6, 20))
def test_a_covering_keeps_to_its_size_and_is_ascending(rows: list[Row], cells_max: int) -> None:
    """A budget in bytes is one in cells."""
    (cells,) = lists_of([rows], cells_max=cells_max).to_pylist()
    assert len(cells) <= cells_max
    assert cells == sorted(set(cells))
    assert NO_POINTS not in cells
    assert lists_of([[*rows, (99.0, 0.0)]], cells_max=cells_max).to_pylist()[0][-1] == NO_POINTS


@needs_s2
def test_more_cells_exclude_more() -> None:
    """Two cities in one cell hold all that lies between."""
    rows = [(40.7, -74.0), (25.8, -80.2)]
    between_them = box(34, 35, -78, -77)
    assert [bool(may_be_inside(lists_of([rows], cells_max=n), between_them, 0, 1)[0]) for n in (1, 8)] == [
        True,
        False,
    ]


@needs_s2
def test_columns_that_are_not_doubles_have_no_covering() -> None:
    """A float compares as its double, of which the rules know nothing."""
    doubles, floats = pa.array([1.0], pa.float64()), pa.array([1.0], pa.float32())
    assert covering(doubles, floats) is None
    assert covering(floats, doubles) is None
    assert covering(doubles, doubles) is not None


def test_block_metadata_keeps_coverings_by_the_names_of_both_columns() -> None:
    """Whatever the names are; other fields there are left alone."""
    metadata = pa.table({"row_count": [1, 2]})
    lists = pa.array([[1, 3], None], LISTS)
    pairs = [
        CoordinatePair("lat", "lon"),
        CoordinatePair("a`,`b", "c,d"),
        CoordinatePair("`s`.`lat`", "`s`.`lon`"),
        CoordinatePair("", "`"),
    ]
    table = with_coverings(metadata, dict.fromkeys(pairs, lists))
    assert coverings_of(table) == dict.fromkeys(pairs, lists)
    halves = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    assert {found.to_pylist()[1][0] for found in coverings_of(halves).values()} == {1}
    assert coverings_of(with_coverings(table, {})) == coverings_of(metadata) == {}
    assert set(coverings_of(with_coverings(table, {pairs[0]: lists}))) == {pairs[0]}


def test_without_the_library_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so, and how to install it."""
    monkeypatch.setattr(coverings, "find_spec", lambda name: None)
    lists = pa.array([[], [1], None], LISTS)
    with caplog.at_level(logging.WARNING):
        assert may_be_inside(lists, box(0, 1, 0, 1), 0, 3).to_pylist() == [True] * 3
        assert may_be_inside(lists, box(0, 1, 0, 1), 1, 1).to_pylist() == [True]
    assert [record.message for record in caplog.records] == [
        "s2geometry is not installed: coverings are not used, so no block is skipped by them"
    ]
    with pytest.raises(InputError, match=r"pip install 'skipproof\[geo\]'"):
        covering(pa.array([0.0]), pa.array([0.0]))
