"""Predicates on points, for Python and for SQL, that include the plain comparisons they imply.

`within_box` and `within_distance` are ordinary Spark expressions: no user code runs per row. They contain
comparisons of latitude and longitude that follow from the distance, so any pruning by bounds works with
them. If a coordinate is NULL they are NULL or FALSE; a latitude beyond 90 degrees, a longitude beyond 180
or NaN is not a point, and is in no region.

The globe is a sphere of the Earth's mean radius, 6,371,008.8 m: distances are within 0.6 % of those
on the ellipsoid.
"""

import math
from functools import reduce
from numbers import Real
from operator import or_
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


def register(spark: "SparkSession") -> None:
    """Register both predicates as temporary functions for the session's SQL.

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
