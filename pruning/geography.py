"""Predicates on points, for Python and for SQL, that include the plain comparisons they imply.

`within_box`, `within_distance` and `within_polygon` are ordinary Spark expressions: no user code runs per
row. They contain comparisons of latitude and longitude that follow from the region, so any pruning by bounds
works with them. If a coordinate is NULL they are NULL or FALSE; a latitude beyond 90 degrees, a longitude
beyond 180 or NaN is not a point, and is in no region.

The globe is a sphere of the Earth's mean radius, 6,371,008.8 m: distances are within 0.6 % of those
on the ellipsoid.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from operator import add, or_
from typing import TYPE_CHECKING, Any

from pruning.arguments import describe_value
from pruning.errors import InputError
from pruning.requirements import require_pyspark
from pruning.rules.sets.regions import (
    EARTH_RADIUS_METERS,
    LATITUDE_MAX,
    LONGITUDE_MAX,
    POLAR_DEGREES,
    SLACK_RADIANS,
    SLACK_RATIO,
    Box,
    Cap,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def within_box(
    latitude: "Column | str", longitude: "Column | str", south: float, west: float, north: float, east: float
) -> "Column":
    """Return a condition that a point is in a box, edges included: east of `west` and west of `east`.

    Args:
        latitude: Degrees, a double: a column or its name.
        longitude: Likewise.
        south: Degrees in [-90, 90].
        west: Degrees in [-180, 180]; greater than `east` if the box crosses the meridian 180.
        north: As `south`.
        east: As `west`.
    Raises:
        InputError: an edge is not on the globe, or south is above north.
        MissingPackage: there is no PySpark.
    Example:
        >>> rows = [("Bonn", 50.7, 7.1), ("Oslo", 59.9, 10.7)]
        >>> cities = spark.createDataFrame(rows, "city string, lat double, lon double")
        >>> inside = within_box("lat", "lon", south=50, west=5, north=52, east=10)
        >>> cities.where(inside).select("city").collect()
        [Row(city='Bonn')]
    """
    _check("south", south, LATITUDE_MAX)
    _check("north", north, LATITUDE_MAX)
    _check("west", west, LONGITUDE_MAX)
    _check("east", east, LONGITUDE_MAX)
    if south > north:
        raise InputError(f"A box from south={south} to north={north} is empty: swap them.")
    across = ((west, LONGITUDE_MAX), (-LONGITUDE_MAX, east))
    longitudes = ((west, east),) if west <= east else across
    return _inside(latitude, longitude, Box(latitudes=((south, north),), longitudes=longitudes))


def within_distance(
    latitude: "Column | str",
    longitude: "Column | str",
    center_latitude: float,
    center_longitude: float,
    meters: float,
) -> "Column":
    """Return a condition that a point is within a distance of a center (by the haversine formula).

    Args:
        latitude: Degrees, a double: a column or its name.
        longitude: Likewise.
        center_latitude: Degrees in [-90, 90].
        center_longitude: Degrees in [-180, 180].
        meters: At least 0.
    Raises:
        InputError: the centre is not on the globe, or the distance is not a number from 0 on.
        MissingPackage: there is no PySpark.
    Example:
        >>> rows = [("Bonn", 50.7, 7.1), ("Oslo", 59.9, 10.7)]
        >>> cities = spark.createDataFrame(rows, "city string, lat double, lon double")
        >>> near = within_distance("lat", "lon", 50.9, 7.0, meters=30_000)
        >>> cities.where(near).select("city").collect()
        [Row(city='Bonn')]
    """
    _check("center_latitude", center_latitude, LATITUDE_MAX)
    _check("center_longitude", center_longitude, LONGITUDE_MAX)
    if isinstance(meters, bool) or not isinstance(meters, Real) or not 0 <= meters < math.inf:
        raise InputError(
            f"meters={describe_value(meters)} is no distance: give a number of meters from 0 on."
        )
    cap = Cap(latitude=float(center_latitude), longitude=float(center_longitude), meters=float(meters))
    return _inside(latitude, longitude, cap.box()) & (_distance(latitude, longitude, cap) <= cap.meters)


def within_polygon(
    latitude: "Column | str", longitude: "Column | str", corners: Sequence[tuple[float, float]]
) -> "Column":
    """Return a condition that a point is inside a polygon or on its edge, in the plane of degrees.

    Edges are straight lines between corners whose coordinates are degrees, as in a GEOMETRY of SRID 4326, and
    not arcs of great circles. A point is inside if a line from it to the east crosses an odd number of edges,
    so that a part that the edges enclose twice is outside. Points are compared in doubles: within a rounding
    error of an edge that is not along a meridian or a parallel, either answer is given.

    Args:
        latitude: Degrees, a double: a column or its name.
        longitude: Likewise.
        corners: At least three pairs of a latitude in [-90, 90] and a longitude in [-180, 180], in the order
            in which edges connect them; the last one is connected with the first. No edge crosses the
            meridian 180: a region across it is two polygons.
    Raises:
        InputError: a corner is not on the globe, or there are fewer than three.
        MissingPackage: there is no PySpark.
    Example:
        >>> rows = [("Bonn", 50.7, 7.1), ("Oslo", 59.9, 10.7)]
        >>> cities = spark.createDataFrame(rows, "city string, lat double, lon double")
        >>> triangle = [(50.0, 5.0), (50.0, 10.0), (55.0, 7.0)]
        >>> cities.where(within_polygon("lat", "lon", triangle)).select("city").collect()
        [Row(city='Bonn')]
    """
    points = _checked_corners(corners)
    latitudes, longitudes = zip(*points, strict=True)
    box = Box(latitudes=((min(latitudes), max(latitudes)),), longitudes=((min(longitudes), max(longitudes)),))
    edges = [_Edge.of(*pair) for pair in zip(points, (*points[1:], points[0]), strict=True)]
    north, east, functions = _column(latitude), _column(longitude), _functions()
    crossed = [
        functions.when(edge.is_crossed(north, east), 1).otherwise(0)
        for edge in edges
        if edge.south < edge.north
    ]
    on_edge = [edge.has(north, east) for edge in edges]
    inside = _balanced_tree(add, crossed) % 2 == 1 if crossed else functions.lit(False)
    return _inside(latitude, longitude, box) & (inside | _balanced_tree(or_, on_edge))


def register(spark: "SparkSession") -> None:
    """Register `within_box` and `within_distance` as temporary functions for the session's SQL.

    They are `within_box(latitude, longitude, south, west, north, east)` and
    `within_distance(latitude, longitude, center_latitude, center_longitude, meters)`, of doubles that
    need not be constants. A region that is not on the globe holds no point.

    Raises:
        InputError: the session is of a release before 4.0, which has no functions written in SQL.
    Example:
        >>> register(spark)
        >>> spark.sql("SELECT within_box(50.7, 7.1, 50, 5, 52, 10) AS inside").collect()
        [Row(inside=True)]
    """
    if not hasattr(spark, "version"):
        raise InputError(f"{describe_value(spark).capitalize()} was given where a Spark session is needed.")
    if int(spark.version.split(".")[0]) < 4:
        raise InputError(
            f"Spark {spark.version} has no functions written in SQL: use the functions of "
            "pruning.geography on columns instead, or Spark 4."
        )
    for definition in (_WITHIN_BOX, _WITHIN_DISTANCE):
        spark.sql(definition)


@dataclass(frozen=True, slots=True)
class _Edge:
    """An edge of a polygon, from its southern corner to its northern one."""

    south: float
    west: float
    north: float
    east: float

    @classmethod
    def of(cls, first: tuple[float, float], second: tuple[float, float]) -> "_Edge":
        """Return the edge between two corners."""
        return cls(*min(first, second), *max(first, second))

    def side(self, latitude: Any, longitude: Any) -> Any:
        """Return what is above 0 west of the edge, 0 on its line, and below 0 east of it."""
        along, across = latitude - self.south, longitude - self.west
        return along * (self.east - self.west) - across * (self.north - self.south)

    def is_crossed(self, latitude: Any, longitude: Any) -> Any:
        """Return the condition that a line from a point to the east crosses the edge.

        Of two edges that meet in a corner, it crosses the one that has the corner as its southern end.
        """
        between = (latitude >= self.south) & (latitude < self.north)
        return between & (self.side(latitude, longitude) > 0)

    def has(self, latitude: Any, longitude: Any) -> Any:
        """Return the condition that a point is on the edge."""
        west, east = sorted((self.west, self.east))
        inside = (latitude >= self.south) & (latitude <= self.north) & longitude.between(west, east)
        return inside & (self.side(latitude, longitude) == 0)


def _checked_corners(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of a polygon as floats.

    Raises:
        InputError: they are not the corners of a polygon.
    """
    if isinstance(corners, str | bytes) or not isinstance(corners, Sequence):
        raise InputError(f"corners={describe_value(corners)} are no corners: give pairs of degrees.")
    points = []
    for corner in corners:
        if not isinstance(corner, Sequence) or isinstance(corner, str | bytes) or len(corner) != 2:
            raise InputError(f"The corner {describe_value(corner)} is no pair of latitude and longitude.")
        _check("latitude", corner[0], LATITUDE_MAX)
        _check("longitude", corner[1], LONGITUDE_MAX)
        points.append((float(corner[0]), float(corner[1])))
    if len(points) < 3:
        raise InputError(f"A polygon of {len(points)} corners encloses nothing: give three or more.")
    return points


def _balanced_tree(combine: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Return all parts combined, as a tree that is as low as possible: plans follow it by recursion."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return combine(_balanced_tree(combine, parts[:half]), _balanced_tree(combine, parts[half:]))


def _check(name: str, degrees: float, limit: float) -> None:
    if isinstance(degrees, bool) or not isinstance(degrees, Real) or not -limit <= degrees <= limit:
        raise InputError(
            f"{name}={describe_value(degrees)} is not on the globe: give degrees in [-{limit:g}, {limit:g}]."
        )


def _inside(latitude: "Column | str", longitude: "Column | str", box: Box) -> "Column":
    sides = []
    for name, intervals in ((latitude, box.latitudes), (longitude, box.longitudes)):
        value = _column(name)
        parts = [(value >= float(low)) & (value <= float(high)) for low, high in intervals]
        sides.append(reduce(or_, parts))
    return sides[0] & sides[1]


def _distance(latitude: "Column | str", longitude: "Column | str", cap: Cap) -> "Column":
    """Return the distance in meters from the cap's center; `least` guards against rounding above 1."""
    functions = _functions()
    north, east = functions.radians(_column(latitude)), functions.radians(_column(longitude))
    center = math.radians(cap.latitude)
    rise = functions.sin((north - center) / 2)
    turn = functions.sin((east - math.radians(cap.longitude)) / 2)
    square = rise * rise + functions.cos(north) * math.cos(center) * turn * turn
    half = functions.asin(functions.least(functions.lit(1.0), functions.sqrt(square)))
    return half * (2 * EARTH_RADIUS_METERS)


def _column(name: "Column | str") -> Any:
    functions = _functions()
    if isinstance(name, str):
        return functions.col(name)
    if not type(name).__module__.startswith("pyspark.sql"):
        raise InputError(f"A coordinate is {describe_value(name)}; give a column or its name.")
    return name


def _functions() -> Any:
    require_pyspark()
    from pyspark.sql import functions

    return functions


# Spark inlines the body and folds constants, which leaves plain comparisons. With a NULL argument these are
# NULL, whereas `greatest` and `least` would ignore it.
_PLACE = "{0} BETWEEN -{1}D AND {1}D"
_WITHIN_BOX = f"""
CREATE OR REPLACE TEMPORARY FUNCTION within_box(
    latitude DOUBLE, longitude DOUBLE, south DOUBLE, west DOUBLE, north DOUBLE, east DOUBLE
) RETURNS BOOLEAN RETURN
    latitude >= south AND latitude <= north
    AND CASE
        WHEN west <= east THEN longitude >= west AND longitude <= east
        WHEN west > east THEN (longitude >= west AND longitude <= {LONGITUDE_MAX}D)
            OR (longitude >= -{LONGITUDE_MAX}D AND longitude <= east)
    END
    AND {_PLACE.format("south", LATITUDE_MAX)} AND {_PLACE.format("north", LATITUDE_MAX)}
    AND {_PLACE.format("west", LONGITUDE_MAX)} AND {_PLACE.format("east", LONGITUDE_MAX)}
"""

# The same computation as `Cap.box`: 360 degrees to either side if the cap holds a pole or comes near one.
_RADIANS = f"(meters / {EARTH_RADIUS_METERS}D * (1D + {SLACK_RATIO}D) + {SLACK_RADIANS}D)"
_ASIDE = f"""if(
    abs(center_latitude) + degrees({_RADIANS}) >= {POLAR_DEGREES}D,
    {2 * LONGITUDE_MAX}D,
    degrees(asin(sin({_RADIANS}) / cos(radians(center_latitude))))
)"""
_HALF_METERS = f"""{EARTH_RADIUS_METERS}D * asin(least(1D, sqrt(
    pow(sin((radians(latitude) - radians(center_latitude)) / 2D), 2D)
    + cos(radians(latitude)) * cos(radians(center_latitude))
    * pow(sin((radians(longitude) - radians(center_longitude)) / 2D), 2D)
)))"""
_WITHIN_DISTANCE = f"""
CREATE OR REPLACE TEMPORARY FUNCTION within_distance(
    latitude DOUBLE, longitude DOUBLE, center_latitude DOUBLE, center_longitude DOUBLE, meters DOUBLE
) RETURNS BOOLEAN RETURN
    latitude >= center_latitude - degrees({_RADIANS}) AND latitude >= -{LATITUDE_MAX}D
    AND latitude <= center_latitude + degrees({_RADIANS}) AND latitude <= {LATITUDE_MAX}D
    AND (
        (longitude >= center_longitude - {_ASIDE} AND longitude >= -{LONGITUDE_MAX}D
            AND longitude <= center_longitude + {_ASIDE} AND longitude <= {LONGITUDE_MAX}D)
        OR (longitude >= center_longitude - {_ASIDE} + {2 * LONGITUDE_MAX}D
            AND longitude <= {LONGITUDE_MAX}D)
        OR (longitude >= -{LONGITUDE_MAX}D
            AND longitude <= center_longitude + {_ASIDE} - {2 * LONGITUDE_MAX}D)
    )
    AND {_PLACE.format("center_latitude", LATITUDE_MAX)}
    AND {_PLACE.format("center_longitude", LONGITUDE_MAX)}
    AND 2D * {_HALF_METERS} <= meters
"""
