"""Boxes of caps that are wrong in one way each: a point of the cap may lie outside."""

import math

from pruning.rules.sets.regions import EARTH_RADIUS_METERS, Box, Cap, longitude_intervals


def without_slack(cap: Cap) -> Box:
    """Take a computed distance for the true one."""
    angle = cap.meters / EARTH_RADIUS_METERS
    sine = math.sin(angle) / math.cos(math.radians(cap.latitude))
    return _box_of(cap, angle, math.asin(max(-1.0, min(1.0, sine))))


def on_a_plane(cap: Cap) -> Box:
    """Take a degree of longitude for as long everywhere."""
    return _box_of(cap, cap.radians, cap.radians)


def by_the_parallel(cap: Cap) -> Box:
    """Go east along the centre's parallel; the circle reaches further."""
    return _box_of(cap, cap.radians, cap.radians / math.cos(math.radians(cap.latitude)))


def past_the_meridian(cap: Cap) -> Box:
    """Let longitudes run on beyond 180."""
    box = cap.box()
    if len(box.longitudes) == 1:
        return box
    (_, east), (west, _) = box.longitudes
    return Box(latitudes=box.latitudes, longitudes=((west, east + 360),))


def past_the_pole(cap: Cap) -> Box:
    """Forget what lies on the pole's other side."""
    return Box(
        latitudes=cap.box().latitudes,
        longitudes=longitude_intervals(cap.longitude - 90, cap.longitude + 90),
    )


def _box_of(cap: Cap, angle: float, aside: float) -> Box:
    degrees, turn = math.degrees(angle), math.degrees(aside)
    north, south = min(cap.latitude + degrees, 90.0), max(cap.latitude - degrees, -90.0)
    return Box(
        latitudes=((south, north),),
        longitudes=longitude_intervals(cap.longitude - turn, cap.longitude + turn),
    )
