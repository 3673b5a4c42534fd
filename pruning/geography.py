"""Predicates on points, for Python and for SQL, that say what they imply in plain comparisons.

`within_box` and `within_distance` are ordinary Spark expressions: no user code runs per row. What a
distance implies of latitudes and longitudes stands beside it as comparisons, so that whatever prunes
by bounds prunes by it too. On a point whose coordinates are NULL they are NULL or FALSE; a latitude
beyond 90 degrees or a longitude beyond 180, or NaN, is no point and in no region.

The globe is a sphere of the Earth's mean radius, 6,371,008.8 m: distances are within 0.6 % of those
on the ellipsoid.
"""

import math
from functools import reduce
from numbers import Real
from operator import or_
from typing import TYPE_CHECKING, Any

from pruning.arguments import shown
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
    """Whether a point is in a box, its edges included; east of `west` and west of `east`.

    Args:
        latitude: Degrees, a double: a column or its name.
        longitude: Likewise.
        south: Degrees in [-90, 90].
        west: Degrees in [-180, 180]. Greater than `east` where the box lies across the meridian 180.
        north: As `south`.
        east: As `west`.
    Raises:
        InputError: an edge is not on the globe, or south is above north.
        MissingPackage: there is no PySpark.
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
    """Whether a point is within a distance of a point, on the sphere (by the haversine formula).

    Args:
        latitude: Degrees, a double: a column or its name.
        longitude: Likewise.
        center_latitude: Degrees in [-90, 90].
        center_longitude: Degrees in [-180, 180].
        meters: At least 0.
    Raises:
        InputError: the centre is not on the globe, or the distance is not a number from 0 on.
        MissingPackage: there is no PySpark.
    """
    _check("center_latitude", center_latitude, LATITUDE_MAX)
    _check("center_longitude", center_longitude, LONGITUDE_MAX)
    if isinstance(meters, bool) or not isinstance(meters, Real) or not 0 <= meters < math.inf:
        raise InputError(f"meters={shown(meters)} is no distance: give a number of meters from 0 on.")
    cap = Cap(latitude=float(center_latitude), longitude=float(center_longitude), meters=float(meters))
    return _inside(latitude, longitude, cap.box()) & (_distance(latitude, longitude, cap) <= cap.meters)


def register(spark: "SparkSession") -> None:
    """Make both predicates known to the session's SQL, with the arguments of the functions here.

    They are `within_box(latitude, longitude, south, west, north, east)` and
    `within_distance(latitude, longitude, center_latitude, center_longitude, meters)`, of doubles that
    need not be constants. A region that is not on the globe holds no point.

    Raises:
        InputError: the session is of a release before 4.0, which has no functions written in SQL.
    """
    if not hasattr(spark, "version"):
        raise InputError(f"{shown(spark).capitalize()} was given where a Spark session is needed.")
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
            f"{name}={shown(degrees)} is not on the globe: give degrees in [-{limit:g}, {limit:g}]."
        )


def _inside(latitude: "Column | str", longitude: "Column | str", box: Box) -> "Column":
    sides = []
    for name, intervals in ((latitude, box.latitudes), (longitude, box.longitudes)):
        value = _column(name)
        parts = [(value >= float(low)) & (value <= float(high)) for low, high in intervals]
        sides.append(reduce(or_, parts))
    return sides[0] & sides[1]


def _distance(latitude: "Column | str", longitude: "Column | str", cap: Cap) -> "Column":
    """Meters from the cap's centre. The square root is at most 1 but for rounding."""
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
        raise InputError(f"A coordinate is {shown(name)}; give a column or its name.")
    return name


def _functions() -> Any:
    require_pyspark()
    from pyspark.sql import functions

    return functions


# Spark puts a body in the place of the call and computes what is constant, which leaves comparisons.
# A NULL makes them NULL: `greatest` and `least` would pass it over.
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

# As `Cap.box` computes them; a whole turn to either side where the cap holds a pole or comes near.
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
