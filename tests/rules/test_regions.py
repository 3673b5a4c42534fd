"""Regions: a distance implies its box, and a conjunction the regions that it is asked by."""

import math
from collections.abc import Callable

import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from mutants.rules.regions import (
    by_the_parallel,
    on_a_plane,
    past_the_meridian,
    past_the_pole,
    without_slack,
)
from pruning.expressions.types import DOUBLE
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import EVERYTHING, NAN_ONLY, NULL_ONLY, ValueSet
from pruning.rules.sets.regions import (
    EARTH_RADIUS_METERS,
    INTERVALS_MAX,
    Box,
    Cap,
    CoordinatePair,
    Interval,
    longitude_intervals,
    region_queries,
)

HALF_WAY_METERS = math.pi * EARTH_RADIUS_METERS
Point = tuple[float, float]

LATITUDES = st.one_of(st.sampled_from([-90.0, -89.95, 0.0, 45.0, 89.5, 89.9999999, 90.0]), st.floats(-90, 90))
LONGITUDES = st.one_of(st.sampled_from([-180.0, -179.9999, 0.0, 90.0, 180.0]), st.floats(-180, 180))
METERS = st.one_of(
    st.sampled_from([0.0, 1e-3, 1.0, 1_000.0, HALF_WAY_METERS / 2, HALF_WAY_METERS]),
    st.floats(-6, 7.5).map(lambda exponent: 10.0**exponent),
)


def distance(one: Point, other: Point) -> float:
    """Meters, by the haversine formula in doubles."""
    north, center = math.radians(one[0]), math.radians(other[0])
    rise = math.sin((north - center) / 2)
    turn = math.sin((math.radians(one[1]) - math.radians(other[1])) / 2)
    square = rise * rise + math.cos(north) * math.cos(center) * turn * turn
    return 2 * EARTH_RADIUS_METERS * math.asin(min(1.0, math.sqrt(square)))


def reached(cap: Cap, bearing: float, share: float) -> Point:
    """The point that lies in a direction from the centre, at a share of the cap's radius."""
    angle = min(cap.meters / EARTH_RADIUS_METERS, math.pi) * share
    center = math.radians(cap.latitude)
    sine = math.sin(center) * math.cos(angle) + math.cos(center) * math.sin(angle) * math.cos(bearing)
    latitude = math.asin(max(-1.0, min(1.0, sine)))
    turn = math.atan2(
        math.sin(bearing) * math.sin(angle) * math.cos(center), math.cos(angle) - math.sin(center) * sine
    )
    longitude = (cap.longitude + math.degrees(turn) + 180) % 360 - 180
    return math.degrees(latitude), longitude


@st.composite
def cases(draw: st.DrawFn) -> tuple[Cap, Point]:
    """A cap, and a point that lies near its edge, within, or anywhere. Shrinks to the equator."""
    cap = Cap(latitude=draw(LATITUDES), longitude=draw(LONGITUDES), meters=draw(METERS))
    # Most of a box's edges touch the circle in a cardinal direction, or where its latitude turns.
    touching = math.acos(max(-1.0, min(1.0, math.tan(math.radians(cap.latitude)) * math.tan(cap.radians))))
    bearing = draw(st.sampled_from([0.0, math.pi / 2, math.pi, touching, -touching]) | st.floats(-4, 4))
    near = reached(cap, bearing, draw(st.sampled_from([1.0, 1 - 1e-9, 1 - 1e-15]) | st.floats(0, 1)))
    return cap, draw(st.just(near) | st.tuples(LATITUDES, LONGITUDES))


def holds(box: Box, point: Point) -> bool:
    return all(
        any(low <= value <= high for low, high in intervals)
        for value, intervals in zip(point, (box.latitudes, box.longitudes), strict=True)
    )


@examples(10)
@given(case=cases())
def test_a_point_within_a_distance_is_in_its_box(case: tuple[Cap, Point]) -> None:
    """GEO-1."""
    cap, point = case
    assert distance(point, (cap.latitude, cap.longitude)) > cap.meters or holds(cap.box(), point)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda cap, box: len(box.longitudes) == 2,
        lambda cap, box: box.longitudes == ((-180.0, 180.0),) and abs(cap.latitude) < 89,
        lambda cap, box: box.longitudes != ((-180.0, 180.0),) and abs(cap.latitude) > 89,
        lambda cap, box: cap.meters < 0.01 and cap.latitude not in (-90, 90),
    ],
    ids=["across the meridian 180", "around a pole", "beside a pole", "tiny"],
)
def test_cases_reach_points_on_the_edge(wanted: Callable[[Cap, Box], bool]) -> None:
    """Without these, GEO-1 could hold of easy caps only."""

    def on_edge(case: tuple[Cap, Point]) -> bool:
        cap, point = case
        away = distance(point, (cap.latitude, cap.longitude))
        return wanted(cap, cap.box()) and cap.meters * (1 - 1e-6) <= away <= cap.meters

    find(cases(), on_edge, settings=unshrunk(20_000))


@pytest.mark.parametrize(
    "mutant", [without_slack, on_a_plane, by_the_parallel, past_the_meridian, past_the_pole]
)
def test_a_broken_box_loses_a_point(mutant: Callable[[Cap], Box]) -> None:
    """GEO-1 kills each mutant."""

    def lost(case: tuple[Cap, Point]) -> bool:
        cap, point = case
        return distance(point, (cap.latitude, cap.longitude)) <= cap.meters and not holds(mutant(cap), point)

    find(cases(), lost, settings=unshrunk(20_000))


@pytest.mark.parametrize(
    ("cap", "outside"),
    [
        (Cap(latitude=40.7, longitude=-74, meters=10_000), [(40.8, -74), (40.7, -73.87), (40.6, -74)]),
        (Cap(latitude=0, longitude=179.9, meters=20_000), [(0, 179.7), (0, -179.9), (0.19, 180)]),
        (Cap(latitude=90, longitude=0, meters=20_000), [(89.8, 50), (0, 0), (-90, 0)]),
        (Cap(latitude=-89, longitude=7, meters=1_000), [(-89, 10), (-90, 7), (-89.02, 7)]),
    ],
)
def test_a_box_is_not_much_larger_than_its_cap(cap: Cap, outside: list[Point]) -> None:
    """What lies a tenth of the radius or more outside is not in the box."""
    assert [point for point in outside if holds(cap.box(), point)] == []


#       west  east   the longitudes
TURNS = [
    (10, 20, ((10, 20),)),
    (-180, 180, ((-180, 180),)),
    (-200, -170, ((-180, -170), (160, 180))),
    (170, 190, ((-180, -170), (170, 180))),
    (-300, 300, ((-180, 180),)),
]


@pytest.mark.parametrize(("west", "east", "expected"), TURNS)
def test_longitudes_turn_at_the_meridian_180(
    west: float, east: float, expected: tuple[Interval, ...]
) -> None:
    """Whatever is beyond it is on the other side."""
    assert longitude_intervals(west, east) == expected


PAIR = CoordinatePair("lat", "lon")


def between(low: float | None, high: float | None) -> ValueSet:
    return ValueSet(cuts.between(low, high, DOUBLE))


FOUR, FIVE = between(4.0, 5.0), between(5.0, 6.0)
INFINITE = math.inf
ASKED = [
    ("both bounded", FOUR, FIVE, ((4.0, 5.0),), ((5.0, 6.0),), False),
    ("two intervals", FOUR, FIVE | between(8.0, 9.0), ((4.0, 5.0),), ((5.0, 6.0), (8.0, 9.0)), False),
    ("open above", between(4.0, None), FIVE, ((4.0, INFINITE),), ((5.0, 6.0),), True),
    ("beyond the globe", FOUR, between(170.0, 190.0), ((4.0, 5.0),), ((170.0, 190.0),), True),
    ("the pole exactly", between(89.0, 90.0), FIVE, ((89.0, 90.0),), ((5.0, 6.0),), False),
    ("a NaN", FOUR | NAN_ONLY, FIVE, ((4.0, 5.0),), ((5.0, 6.0),), True),
]


@pytest.mark.parametrize(
    ("latitude", "longitude", "latitudes", "longitudes", "no_points"),
    [case[1:] for case in ASKED],
    ids=[case[0] for case in ASKED],
)
def test_a_conjunction_asks_for_the_box_of_its_values(
    latitude: ValueSet,
    longitude: ValueSet,
    latitudes: tuple[Interval, ...],
    longitudes: tuple[Interval, ...],
    no_points: bool,
) -> None:
    """Worked cases."""
    box = Box(latitudes=latitudes, longitudes=longitudes, no_points=no_points)
    ((pair, inside),) = region_queries([PAIR], {"lat": latitude, "lon": longitude})
    assert (pair, inside.longitude, inside.region) == (PAIR, "lon", box)


@pytest.mark.parametrize(
    "true",
    [
        {"lat": FOUR},
        {"lon": FIVE},
        {"lat": FOUR, "lon": FIVE | NULL_ONLY},
        {"lat": FOUR | NULL_ONLY, "lon": FIVE},
        {"lat": FOUR, "lon": EVERYTHING},
        {"lat": ValueSet(cuts.FULL), "lon": FIVE},
    ],
)
def test_nothing_is_asked_where_a_coordinate_may_be_null_or_anything(true: dict[str, ValueSet]) -> None:
    """A row with NULL is in no covering."""
    assert region_queries([PAIR], true) == []


ENDS = st.sampled_from([-200.0, -180.0, -90.0, -1.0, 0.0, 1.0, 90.0, 180.0, 200.0, None])
VALUES = st.sampled_from([-200.0, -180.0, -90.5, -90.0, -1.0, 0.0, 0.5, 1.0, 90.0, 180.0, 200.0, math.nan])


@st.composite
def sets(draw: st.DrawFn) -> ValueSet:
    """Unions of a few intervals, of more than are asked for, and NaN or not."""
    if draw(st.integers(0, 4)) == 0:
        points = range(-10 * INTERVALS_MAX, 10 * INTERVALS_MAX, draw(st.integers(3, 20)))
        return ValueSet(cuts.of_values(map(float, points), DOUBLE), nan=draw(st.booleans()))
    parts = draw(st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=3))
    union = ValueSet(nan=draw(st.booleans()))
    for low, high in parts:
        union |= between(low, high)
    return union


@examples(10)
@given(latitudes=sets(), longitudes=sets(), latitude=VALUES, longitude=VALUES)
def test_a_row_that_satisfies_the_conjunction_is_in_the_region(
    latitudes: ValueSet, longitudes: ValueSet, latitude: float, longitude: float
) -> None:
    """GEO-2. As a point of the box, or as one that is no point."""
    inside = within(latitudes, latitude) and within(longitudes, longitude)
    for _, found in region_queries([PAIR], {"lat": latitudes, "lon": longitudes}):
        assert isinstance(found.region, Box)
        is_point = abs(latitude) <= 90 and abs(longitude) <= 180
        in_region = holds(found.region, (latitude, longitude)) if is_point else found.region.no_points
        assert in_region or not inside


def within(values: ValueSet, value: float) -> bool:
    assert isinstance(values.cuts, cuts.Cuts)
    return values.nan if math.isnan(value) else values.cuts.holds(value)


def test_many_intervals_are_asked_for_as_one() -> None:
    """So that a region stays small."""
    many = ValueSet(cuts.of_values(map(float, range(2 * INTERVALS_MAX)), DOUBLE))
    ((_, inside),) = region_queries([PAIR], {"lat": many, "lon": FIVE})
    assert isinstance(inside.region, Box)
    assert inside.region.latitudes == ((0.0, 2.0 * INTERVALS_MAX - 1),)
