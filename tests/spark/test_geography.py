"""Predicates on points: Python's and SQL's agree, the comparisons beside a distance take nothing away."""

import math
import random
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Column, DataFrame, functions

import pruning
from mutants.polygons import MUTANTS
from pruning import geography
from pruning.errors import InputError
from pruning.rules.sets.regions import EARTH_RADIUS_METERS, Cap

CAPS = [
    (40.7, -74.0, 50_000.0),
    (0.0, 179.9, 30_000.0),
    (-17.0, -179.95, 400_000.0),
    (90.0, 0.0, 10_000.0),
    (89.9, 100.0, 20_000.0),
    (-89.0, -180.0, 200_000.0),
    (45.0, 45.0, 0.0),
    (45.0, 45.0, 0.001),
    (10.0, 20.0, 10_007_543.0),
    (-60.0, 180.0, 15_000_000.0),
    (90.0, 0.0, 20_015_114.0),
    (0.0, 0.0, 20_015_115.0),
]
#  south  west    north  east
BOXES = [
    (40.5, -74.25, 40.9, -73.7),
    (-10.0, 170.0, 10.0, -170.0),
    (-90.0, -180.0, 90.0, 180.0),
    (0.0, 180.0, 50.0, -180.0),
    (45.0, 45.0, 45.0, 45.0),
    (89.0, -180.0, 90.0, -180.0),
]
NAN = math.nan
ODD = [
    (None, 0.0),
    (0.0, None),
    (None, 300.0),
    (NAN, 0.0),
    (0.0, NAN),
    (90.5, 0.0),
    (0.0, 180.5),
    (0.0, -math.inf),
    (math.inf, 0.0),
]


def points() -> list[tuple[float | None, float | None]]:
    """Points on and beside the edges of the regions, anywhere, and rows that are no points."""
    draw = random.Random(20130101)
    found: list[tuple[float | None, float | None]] = list(ODD)
    for latitude, longitude, meters in CAPS:
        box = Cap(latitude=latitude, longitude=longitude, meters=meters).box()
        found += [(latitude, longitude), (-latitude, (longitude + 360) % 360 - 180)]
        for _ in range(20):
            low, high = draw.choice(box.longitudes)
            found.append((draw.uniform(*box.latitudes[0]), draw.uniform(low, high)))
            # On the circle, in a direction: where it is the nearest to the box's edges.
            found.append(_on_circle(latitude, longitude, meters, draw.choice([0, 0.25, 0.5, draw.random()])))
    for south, west, north, east in BOXES:
        found += [(south, west), (north, east), (south, (west + east) / 2), ((south + north) / 2, west)]
    return [*found, *((draw.uniform(-90, 90), draw.uniform(-180, 180)) for _ in range(100))]


def _on_circle(latitude: float, longitude: float, meters: float, turns: float) -> tuple[float, float]:
    angle, center = meters / EARTH_RADIUS_METERS, math.radians(latitude)
    bearing = turns * math.tau
    sine = math.sin(center) * math.cos(angle) + math.cos(center) * math.sin(angle) * math.cos(bearing)
    side = math.sin(bearing) * math.sin(angle) * math.cos(center)
    turn = math.atan2(side, math.cos(angle) - math.sin(center) * sine)
    north = math.degrees(math.asin(max(-1.0, min(1.0, sine))))
    return north, max(-180.0, min(180.0, (longitude + math.degrees(turn) + 180) % 360 - 180))


def is_point(latitude: float | None, longitude: float | None) -> bool:
    return None not in (latitude, longitude) and abs(latitude or 0) <= 90 and abs(longitude or 0) <= 180


@pytest.fixture(scope="module")
def frame(spark: Any) -> DataFrame:
    """The points, in memory."""
    return spark.createDataFrame(points(), "lat double, lon double")


@pytest.fixture(scope="module")
def sql(spark: Any) -> Any:
    """The session, with both predicates in its SQL."""
    if int(spark.version.split(".")[0]) < 4:
        pytest.skip("Spark 3.5 has no functions written in SQL")
    geography.register(spark)
    return spark


def plain_distance(latitude: float, longitude: float) -> Column:
    """The haversine formula, as `within_distance` has it."""
    return geography._distance("lat", "lon", Cap(latitude=latitude, longitude=longitude, meters=0))


def answers(frame: DataFrame, *columns: Column) -> list[tuple[Any, ...]]:
    named = [column.alias(f"c{place}") for place, column in enumerate(columns)]
    return [tuple(row) for row in frame.select("lat", "lon", *named).collect()]


def test_the_comparisons_beside_a_distance_take_no_point_away(frame: DataFrame) -> None:
    """GEO-3. On points, `within_distance` is TRUE exactly where the formula alone is; nowhere else."""
    meters = [cap[2] for cap in CAPS]
    found = answers(
        frame,
        *(geography.within_distance("lat", "lon", *cap) for cap in CAPS),
        *(plain_distance(*cap[:2]) for cap in CAPS),
    )
    inside = 0
    for latitude, longitude, *cells in found:
        verdicts, away = cells[: len(CAPS)], cells[len(CAPS) :]
        if is_point(latitude, longitude):
            assert verdicts == [far <= limit for far, limit in zip(away, meters, strict=True)]
            inside += sum(verdicts)
        else:
            assert True not in verdicts
    assert inside > 300


def test_boxes_hold_the_points_between_their_edges(frame: DataFrame) -> None:
    """GEO-4. Across the meridian 180 too; a row with NULL or off the globe is in none."""
    found = answers(frame, *(geography.within_box("lat", "lon", *box) for box in BOXES))
    for latitude, longitude, *verdicts in found:
        for (south, west, north, east), verdict in zip(BOXES, verdicts, strict=True):
            if not is_point(latitude, longitude):
                assert verdict is not True
                continue
            between = west <= longitude <= east if west <= east else longitude >= west or longitude <= east
            assert verdict is (south <= latitude <= north and between)


def test_sql_agrees_with_the_functions_on_columns(frame: DataFrame, sql: Any) -> None:
    """GEO-5. Of distances, but for points within a billionth of the edge."""
    boxes = [
        (geography.within_box("lat", "lon", *box), f"within_box(lat, lon, {_listed(box)})") for box in BOXES
    ]
    caps = [
        (geography.within_distance("lat", "lon", *cap), f"within_distance(lat, lon, {_listed(cap)})")
        for cap in CAPS
    ]
    columns = [side for pair in (*boxes, *caps) for side in (pair[0], functions.expr(pair[1]))]
    found = answers(frame, *columns, *(plain_distance(*cap[:2]) for cap in CAPS))
    limits = [None] * len(BOXES) + [cap[2] for cap in CAPS]
    for _, _, *cells in found:
        away = [None] * len(BOXES) + cells[len(columns) :]
        for place, (far, limit) in enumerate(zip(away, limits, strict=True)):
            python, text = cells[2 * place], cells[2 * place + 1]
            close = far is not None and limit is not None and abs(far - limit) <= 1e-9 * limit + 1e-6
            assert close or (python is True) == (text is True)


def _listed(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number!r}D" for number in numbers)


@pytest.mark.parametrize(
    "call",
    [
        "within_box(lat, lon, -10, null, 10, 20)",
        "within_box(lat, lon, -10, 0, 10, double('NaN'))",
        "within_box(lat, lon, -10, double('NaN'), 10, 20)",
        "within_box(lat, lon, -100, -180, 90, 180)",
        "within_box(lat, lon, 10, -180, -10, 180)",
        "within_distance(lat, lon, 91, 0, 1e9)",
        "within_distance(lat, lon, 0, 181, 1e9)",
        "within_distance(lat, lon, null, 0, 1e9)",
        "within_distance(lat, lon, 0, 0, null)",
        "within_distance(lat, lon, 0, 0, double('NaN'))",
        "within_distance(lat, lon, 0, 0, -1)",
    ],
)
def test_in_sql_a_region_that_is_not_on_the_globe_holds_no_point(
    frame: DataFrame, sql: Any, call: str
) -> None:
    """It can raise nothing: what it is given may be a column."""
    assert frame.where(call).count() == 0


def test_sql_takes_columns_for_regions_too(frame: DataFrame, sql: Any) -> None:
    """Each point is in its own box and at no distance from itself."""
    sound = frame.where("abs(lat) <= 90 and abs(lon) <= 180")
    itself = sound.where(
        "within_box(lat, lon, lat, lon, lat, lon) and within_distance(lat, lon, lat, lon, 0)"
    )
    assert itself.count() == sound.count() > 100


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A point for each degree of longitude and three of latitude, a file for each latitude."""
    root = tmp_path_factory.mktemp("globe")
    for latitude in range(-90, 91, 3):
        longitudes = [float(degree) for degree in range(-180, 181)]
        rows = pa.table({"lat": [float(latitude)] * len(longitudes), "lon": longitudes})
        pq.write_table(rows, root / f"{latitude + 90:03}.parquet", row_group_size=10)
    return root


@pytest.mark.parametrize(
    ("call", "kept_max"),
    [
        ("within_distance(lat, lon, 40.7D, -74D, 200000D)", 2),
        ("within_distance(lat, lon, 0D, 179.5D, 150000D)", 3),
        ("within_distance(lat, lon, 90D, 0D, 300000D)", 37),
        ("within_box(lat, lon, -10, 170, 10, -170)", 7 * 4),
    ],
)
def test_bounds_alone_prune_by_both_predicates(spark: Any, lake: Path, call: str, kept_max: int) -> None:
    """Fewer blocks, the same rows; in Python, and in SQL where there is such."""
    name, numbers = call[: call.index("(")], call[call.index("lon,") + 4 : -1].replace("D", "").split(",")
    rows = spark.read.parquet(str(lake))
    asked = [rows.where(getattr(geography, name)("lat", "lon", *map(float, numbers)))]
    if int(spark.version.split(".")[0]) >= 4:
        geography.register(spark)
        asked.append(rows.where(call))
    for query in asked:
        (scan,) = pruning.explain(query).scans
        assert scan.blocks_kept <= kept_max
        expected = sorted(map(tuple, query.collect()))
        assert sorted(map(tuple, pruning.prune(query).collect())) == expected
        assert expected


def grid_polygons() -> list[list[tuple[float, float]]]:
    """Polygons of corners on a grid of quarters, whose sides are exact in doubles; some cross themselves."""
    draw = random.Random(20240229)
    sizes = [3, 3, 4, 4, 5, 6]
    others = [[(draw.randrange(9) / 4, draw.randrange(9) / 4) for _ in range(size)] for size in sizes]
    return [NOTCHED, [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0)], [(0.5, 0.5)] * 3, *others]


# A region in the form of an L.
NOTCHED = [(0.0, 0.0), (2.0, 0.0), (2.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.0, 2.0)]


DIAMOND = [(0.0, 1.0), (1.0, 0.0), (2.0, 1.0), (1.0, 2.0)]
# Edges that go around a square twice.
TWICE = [
    (0.0, 0.0),
    (0.0, 2.0),
    (2.0, 2.0),
    (2.0, 0.25),
    (0.25, 0.25),
    (0.25, 1.75),
    (1.75, 1.75),
    (1.75, 0.0),
]


def is_in_polygon(latitude: float, longitude: float, corners: list[tuple[float, float]]) -> bool:
    """Decide by exact fractions where a line to the east meets the edges."""
    crossings, north, east = 0, Fraction(latitude), Fraction(longitude)
    for first, second in zip(corners, [*corners[1:], corners[0]], strict=True):
        (south, west), (top, end) = sorted(
            [tuple(map(Fraction, first)), tuple(map(Fraction, second))], key=lambda corner: corner[0]
        )
        if south == top == north and min(west, end) <= east <= max(west, end):
            return True
        if south < top and south <= north <= top:
            meets = west + (end - west) * (north - south) / (top - south)
            if meets == east:
                return True
            crossings += north < top and meets > east
    return crossings % 2 == 1


def test_polygons_hold_the_points_inside_and_on_their_edges(spark: Any) -> None:
    """GEO-6. By exact arithmetic, at corners, on edges and in line with them too."""
    grid = [(latitude / 8, longitude / 8) for latitude in range(-1, 19) for longitude in range(-1, 19)]
    frame = spark.createDataFrame([*grid, *ODD], "lat double, lon double")
    assert wrong_verdicts(frame, grid_polygons()) == []
    assert frame.where(geography.within_polygon("lat", "lon", NOTCHED)).count() > 100


def wrong_verdicts(frame: DataFrame, polygons: list[list[tuple[float, float]]]) -> list[tuple[Any, ...]]:
    """The points that `within_polygon` places wrongly, each with the polygon; NULL is as good as FALSE."""
    columns = [geography.within_polygon("lat", "lon", corners) for corners in polygons]
    return [
        (latitude, longitude, corners)
        for latitude, longitude, *verdicts in answers(frame, *columns)
        for corners, verdict in zip(polygons, verdicts, strict=True)
        if (verdict is True)
        != (is_point(latitude, longitude) and is_in_polygon(latitude, longitude, corners))
    ]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_polygons_places_a_point_wrongly(
    spark: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.createDataFrame([(1.0, 0.5), (0.0, 1.0), (0.0, 2.0), (1.5, 1.0)], "lat double, lon double")
    crossing = [(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 1.0)]
    monkeypatch.setattr(*MUTANTS[name])
    assert wrong_verdicts(frame, [crossing, DIAMOND, TWICE])


def test_blocks_in_the_notch_of_a_polygon_are_skipped(spark: Any, tmp_path: Path) -> None:
    """They are inside the box around it."""
    for row in range(4):
        for column in range(4):
            points = [(row / 2 + north / 10, column / 2 + east / 10) for north in (1, 4) for east in (1, 4)]
            rows = pa.table(dict(zip(("lat", "lon"), zip(*points, strict=True), strict=True)))
            pq.write_table(rows, tmp_path / f"{row}{column}.parquet")
    query = spark.read.parquet(str(tmp_path)).where(geography.within_polygon("lat", "lon", NOTCHED))
    pruned = pruning.prune(query)
    assert sorted(pruned.collect()) == sorted(query.collect())
    (scan,) = pruning.explain(pruned).scans
    assert (scan.files_kept, scan.files_total) == (7, 16)


@pytest.mark.parametrize(
    ("corners", "sentence"),
    [
        ([(0, 0), (1, 1)], "A polygon of 2 corners encloses nothing: give three or more."),
        ([(0, 0), (1, 1), (91, 0)], "latitude=91 is not on the globe: give degrees in [-90, 90]."),
        ([(0, 0), (1, 1), (0, NAN)], "longitude=nan is not on the globe: give degrees in [-180, 180]."),
        ([(0, 0), (1, 1), 5], "The corner 5 is no pair of latitude and longitude."),
        ("POLYGON", "corners='POLYGON' are no corners: give pairs of degrees."),
    ],
)
def test_what_is_no_polygon_is_refused(spark: Any, corners: Any, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        geography.within_polygon("lat", "lon", corners)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("name", "numbers", "said"),
    [
        ("within_box", (-91, 0, 0, 0), "south=-91 is not on the globe: give degrees in [-90, 90]."),
        ("within_box", (0, 0, NAN, 0), "north=nan is not on the globe: give degrees in [-90, 90]."),
        ("within_box", (0, -181, 0, 0), "west=-181 is not on the globe: give degrees in [-180, 180]."),
        ("within_box", (5, 0, 4, 0), "A box from south=5 to north=4 is empty: swap them."),
        ("within_distance", (99, 0, 1), "center_latitude=99 is not on the globe: give degrees in [-90, 90]."),
        ("within_distance", (0, 0, -1), "meters=-1 is no distance: give a number of meters from 0 on."),
        (
            "within_distance",
            (0, 0, math.nan),
            "meters=nan is no distance: give a number of meters from 0 on.",
        ),
    ],
)
def test_a_region_that_is_not_on_the_globe_is_refused(
    spark: Any, name: str, numbers: tuple[float, ...], said: str
) -> None:
    """One sentence that names what is wrong."""
    with pytest.raises(InputError) as refused:
        getattr(geography, name)("lat", "lon", *numbers)
    assert str(refused.value) == said


def test_a_release_without_sql_functions_is_refused() -> None:
    """With what to do instead."""
    with pytest.raises(
        InputError, match=r"^Spark 3\.5\.9 has no functions written in SQL: use the functions"
    ):
        geography.register(SimpleNamespace(version="3.5.9"))
