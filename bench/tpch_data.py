"""TPC-H for `tpch.py`: the tables, clustered as in [P] 8.3, and the texts of the queries.

Neither is kept here. The tables are made by `tpchgen-cli`, whose keys, numbers and dates are those of the
official generator; the texts are those of DuckDB's extension, as the package of that name brings it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.errors import InputError

ROWS_PER_BLOCK = 10_000
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
# What a table is sorted by, and in how many files it is.
CLUSTERED = {"lineitem": ("l_shipdate", 20), "orders": ("o_orderdate", 10)}
_NEEDED = "duckdb==1.5.5 duckdb-extension-tpch==1.5.5 tpchgen-cli==4.0.0"
_DONE = "complete"


def tables(directory: Path, scale: float) -> Path:
    """Return the directory with a directory for each table, made if it is not there yet.

    Raises:
        InputError: the generator is not installed, or fails.
    """
    lake = directory / f"tpch-{scale:g}"
    if not (lake / _DONE).exists():
        shutil.rmtree(lake, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=directory) as raw:
            _generate(Path(raw), scale)
            for name in TABLES:
                _rewrite(Path(raw) / f"{name}.parquet", lake / name)
        (lake / _DONE).touch()
    return lake


def texts() -> dict[int, str]:
    """Return the queries by number, with the parameters of the benchmark's own check, in Spark's syntax.

    Raises:
        InputError: DuckDB or its extension is not installed, or their versions differ.
    """
    found = importlib.util.find_spec("duckdb_extension_tpch")
    if found is None or importlib.util.find_spec("duckdb") is None:
        raise _missing("the texts of the queries")
    import duckdb

    inside = f"extensions/v{duckdb.__version__}/tpch.duckdb_extension"
    extension = next((Path(place, inside) for place in found.submodule_search_locations or ()), None)
    if extension is None or not extension.exists():
        raise _missing("the texts of the queries")
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        return dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())


def _generate(directory: Path, scale: float) -> None:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    generator = shutil.which("tpchgen-cli", path=beside)
    if generator is None:
        raise _missing("the tables")
    command = [
        generator,
        "parquet",
        "--scale-factor",
        f"{scale:g}",
        "--output-dir",
        str(directory),
        "--quiet",
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise InputError(f"tpchgen-cli could not make the tables; try it alone: {' '.join(command)}")


def _rewrite(source: Path, target: Path) -> None:
    """Rewrite one table in row groups of `ROWS_PER_BLOCK`, sorted if it is clustered."""
    table = pq.read_table(source)
    # Arrow cannot sort tables that have views of strings.
    table = table.cast(pa.schema([_plain(field) for field in table.schema]))
    key, files = CLUSTERED.get(target.name, ("", 1))
    if key:
        table = table.sort_by(key)
    target.mkdir(parents=True)
    blocks = -(-len(table) // ROWS_PER_BLOCK)
    rows = -(-blocks // files) * ROWS_PER_BLOCK
    for number, start in enumerate(range(0, len(table), rows)):
        part = table.slice(start, rows)
        pq.write_table(part, target / f"part-{number:05}.parquet", row_group_size=ROWS_PER_BLOCK)


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if field.type == pa.string_view() else field


def _missing(what: str) -> InputError:
    return InputError(f"A package that {what} come from is missing: pip install {_NEEDED}")
