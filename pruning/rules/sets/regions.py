"""Regions of the globe, and the regions in which a predicate on coordinates may be TRUE.

Latitudes lie in [-90, 90] and longitudes in [-180, 180] degrees. A row with any other number, with NULL
or with NaN is *no point*. The meridians -180 and 180 are the same one, which comparisons ignore.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import ValueSet

# Mean radius of the Earth as a sphere (IUGG, R1).
EARTH_RADIUS_METERS = 6_371_008.8
LATITUDE_MAX, LONGITUDE_MAX = 90.0, 180.0
# A distance computed in doubles has a relative error of 1e-15, and of 1e-8 radians at the antipodes.
SLACK_RATIO, SLACK_RADIANS = 1e-7, 1e-9
# Nearer to a pole than this a rounding error may span many meridians, so all longitudes are included.
POLAR_DEGREES = 89.9
# Sets of more intervals are replaced by the one interval around them.
INTERVALS_MAX = 8

# A closed interval of degrees; its ends may be infinite.
Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, order=True)
class CoordinatePair:
    """Two columns of doubles that hold the latitude and the longitude of points, in degrees."""

    latitude: str
    longitude: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The rows whose latitude lies in one of some intervals, and the longitude in one of others.

    `no_points` tells whether rows that are no points may be among them.
    """

    latitudes: tuple[Interval, ...]
    longitudes: tuple[Interval, ...]
    no_points: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The points within a distance of a point, on a sphere of `EARTH_RADIUS_METERS`."""

    latitude: float
    longitude: float
    meters: float

    @property
    def radians(self) -> float:
        """The angle from the cap's centre to its rim, seen from the Earth's centre, with some slack."""
        return self.meters / EARTH_RADIUS_METERS * (1 + SLACK_RATIO) + SLACK_RADIANS

    def box(self) -> Box:
        """Return a box that encloses the cap.

        Claim     A point whose distance, computed in doubles, is within `meters` is in the box.
        Proof     (1) A degree of latitude is a degree of a great circle: latitudes differ by less.
                  (2) Around a pole, all longitudes.
                  (3) Else the meridian that touches the circle of `angle` radians around latitude p
                  makes a right triangle with the pole: sin(longitude) = sin(angle) / cos(p).
        """
        angle = self.radians
        degrees = math.degrees(angle)
        south, north = self.latitude - degrees, self.latitude + degrees
        latitudes = ((max(south, -LATITUDE_MAX), min(north, LATITUDE_MAX)),)  # (1)
        if max(-south, north) >= POLAR_DEGREES:  # (2)
            return Box(latitudes=latitudes, longitudes=((-LONGITUDE_MAX, LONGITUDE_MAX),))
        aside = math.degrees(math.asin(math.sin(angle) / math.cos(math.radians(self.latitude))))  # (3)
        return Box(
            latitudes=latitudes,
            longitudes=longitude_intervals(self.longitude - aside, self.longitude + aside),
        )


Region: TypeAlias = Box | Cap


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionQuery:
    """The argument of MAY_BE_INSIDE on a column of latitudes: the column of longitudes, and the region."""

    longitude: str
    region: Region


def longitude_intervals(west: float, east: float) -> tuple[Interval, ...]:
    """Return the longitudes from `west` eastward to `east`; an end may lie up to a turn past the meridian."""
    if east - west >= 2 * LONGITUDE_MAX:
        return ((-LONGITUDE_MAX, LONGITUDE_MAX),)
    if west < -LONGITUDE_MAX:
        return (-LONGITUDE_MAX, east), (west + 2 * LONGITUDE_MAX, LONGITUDE_MAX)
    if east > LONGITUDE_MAX:
        return (-LONGITUDE_MAX, east - 2 * LONGITUDE_MAX), (west, LONGITUDE_MAX)
    return ((west, east),)


def region_queries(
    pairs: Iterable[CoordinatePair], true: Mapping[str, ValueSet]
) -> list[tuple[CoordinatePair, RegionQuery]]:
    """Return the regions that must hold a point, or rows that are no points, for a conjunction to be TRUE.

    Args:
        pairs: The coordinate columns whose metadata has more than bounds.
        true: For columns of doubles, the values on which the conjunction may be TRUE.

    Claim     A row on which it is TRUE is in each region.
    Proof     (1) No value of the row is NULL, as NULL is in neither set.
              (2) A row that is no point is in a region that is open to those: a NaN is in one of the
              sets, or a coordinate beyond the globe in one of the intervals.
              (3) Each coordinate of a point is in an interval, as it is in the set.
    """
    queries = []
    for pair in pairs:
        latitude, longitude = true.get(pair.latitude), true.get(pair.longitude)
        if latitude is None or longitude is None or latitude.null or longitude.null:  # (1)
            continue
        if latitude.cuts.full or longitude.cuts.full:
            continue  # A condition on one coordinate alone is decided by its bounds.
        latitudes, longitudes = _intervals(latitude), _intervals(longitude)
        no_points = (  # (2)
            latitude.nan
            or longitude.nan
            or _beyond(latitudes, LATITUDE_MAX)
            or _beyond(longitudes, LONGITUDE_MAX)
        )
        box = Box(latitudes=latitudes, longitudes=longitudes, no_points=no_points)  # (3)
        queries.append((pair, RegionQuery(longitude=pair.longitude, region=box)))
    return queries


def _intervals(values: ValueSet) -> tuple[Interval, ...]:
    """Return closed intervals that hold the numbers of a set."""
    assert isinstance(values.cuts, Cuts), "sets of doubles are unions of intervals"
    runs = tuple(
        (-math.inf if start is None else float(start[0]), math.inf if end is None else float(end[0]))
        for start, end in values.cuts.intervals()
    )
    return runs if len(runs) <= INTERVALS_MAX else ((runs[0][0], runs[-1][1]),)


def _beyond(intervals: Iterable[Interval], limit: float) -> bool:
    """Tell whether an interval reaches beyond [-limit, limit]."""
    return any(low < -limit or high > limit for low, high in intervals)
