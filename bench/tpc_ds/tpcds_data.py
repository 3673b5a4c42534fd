"""TPC-DS for `tpcds.py` and `partitions.py`: its tables, facts in several layouts, and its queries.

    pip install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5
    python bench/tpc_ds/tpcds_data.py DIRECTORY [--scale N]

Facts are sorted by their date keys (*clustered*), in the order of the generator, which sorts some of them by
date and others by nothing (*generated*), in no order (*shuffled*), and in a directory for each value of their
date keys (*partitioned*), as Spark's `partitionBy` writes them.

Neither is kept here: both come from DuckDB's extension, whose keys, numbers and dates are those of the
official generator. It is built for one version of DuckDB, so that an environment of its own may be needed.
"""

import argparse
import importlib.util
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

ROWS_PER_BLOCK, BLOCKS_PER_FILE = 20_000, 8
# The date key of each fact.
FACTS = {
    "catalog_returns": "cr_returned_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "inventory": "inv_date_sk",
    "store_returns": "sr_returned_date_sk",
    "store_sales": "ss_sold_date_sk",
    "web_returns": "wr_returned_date_sk",
    "web_sales": "ws_sold_date_sk",
}
LAYOUTS = ("clustered", "generated", "shuffled", "partitioned")
TEXTS = "texts.json"
_SEED = 1


def make(directory: Path, scale: float) -> None:
    """Make all layouts of all tables, and the texts of the queries."""
    import duckdb

    package = importlib.util.find_spec("duckdb_extension_tpcds")
    if package is None:
        sys.exit("The tables need duckdb-extension-tpcds, of the version of DuckDB: pip install it.")
    inside = f"extensions/v{duckdb.__version__}/tpcds.duckdb_extension"
    extension = next(Path(place, inside) for place in package.submodule_search_locations or ())
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"CALL dsdgen(sf={scale})")
        texts = dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        for name in names:
            table = connection.execute(f"SELECT * FROM {name}").to_arrow_table()
            for layout in LAYOUTS:
                folder = directory / layout / name
                shutil.rmtree(folder, ignore_errors=True)
                if layout == "partitioned" and name in FACTS:
                    _write_partitions(table, FACTS[name], folder)
                else:
                    _write(_in_order(table, name, layout), folder)
    (directory / TEXTS).write_text(json.dumps(texts))


def _in_order(table: pa.Table, name: str, layout: str) -> pa.Table:
    """Return a table in the order of a layout; only facts have one of their own."""
    if name not in FACTS or layout == "generated":
        return table
    if layout == "clustered":
        return table.sort_by([(FACTS[name], "ascending")])
    places = list(range(len(table)))
    random.Random(_SEED).shuffle(places)
    return table.take(pa.array(places))


def _write(table: pa.Table, folder: Path) -> None:
    """Write a table in files of `BLOCKS_PER_FILE` row groups of `ROWS_PER_BLOCK` rows."""
    folder.mkdir(parents=True)
    rows = ROWS_PER_BLOCK * BLOCKS_PER_FILE
    for number, start in enumerate(range(0, max(len(table), 1), rows)):
        path = folder / f"part-{number:05}.parquet"
        pq.write_table(table.slice(start, rows), path, row_group_size=ROWS_PER_BLOCK)


def _write_partitions(table: pa.Table, key: str, folder: Path) -> None:
    """Write a table with a directory for each value of a key, and a file in each."""
    ds.write_dataset(
        table.sort_by([(key, "ascending")]),
        folder,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([table.schema.field(key)]), flavor="hive"),
        max_partitions=len(table),
        max_rows_per_group=ROWS_PER_BLOCK,
    )


def texts(directory: Path) -> dict[int, str]:
    """Return the queries by number."""
    stored: dict[str, Any] = json.loads((directory / TEXTS).read_text())
    return {int(number): text for number, text in stored.items()}


def main() -> None:
    """Read the arguments, and make the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--scale", type=float, default=1, help="GB of data (default %(default)s)")
    arguments = parser.parse_args()
    make(arguments.directory, arguments.scale)


if __name__ == "__main__":
    main()
