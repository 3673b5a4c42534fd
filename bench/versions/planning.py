"""Plan queries over one version of a table of very many files, some with deleted rows, and read what is left.

    python bench/versions/planning.py [--files N] [--rows N] [--rounds N]

The log of a table of Delta Lake is written by hand: FILES files with ROWS rows each, of which `id` ascends
over the files and `unit` takes turns; of the files only those exist that the queries need. Three tables
differ in their deletes alone: none, in each twentieth file, and in each second file; a file with deletes has
lost each hundredth row. The first time of each figure is that of the first call, the second the median of
ROUNDS more.

Bars, at 20,000 files with deletes in 1,000: `prune` plans each query within 0.5 s when the table is open, and
a pruned query takes at most 1.3 times as long as one over its files alone, chosen by hand, with their deleted
rows. Queries over the three tables open the same files.
"""

import argparse
import base64
import json
import statistics
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

PLAN_SECONDS_MAX, RATIO_MAX = 0.5, 1.3
# The tables: each how many-th file has deletes; 0 is none.
EVERY = {"no deletes": 0, "deletes in 1/20": 20, "deletes in 1/2": 2}
TIMES = ("open", "plan", "read", "by hand")
_MAGIC = 1681511377
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_SCHEMA = {"id": "long", "word": "string", "unit": "string", "value": "double"}


def queries(files: int, rows: int) -> dict[str, str]:
    """Return the queries, with `{t}` for the table."""
    middle = files // 2 * rows
    return {
        "point": f"SELECT sum(value), count(word) FROM {{t}} WHERE id = {middle + 7}",
        "IF": f"SELECT sum(value), count(word) FROM {{t}} "
        f"WHERE IF(unit = 'feet', id * 1, id) BETWEEN {middle} AND {middle + 2 * rows - 1}",
        "top-k": f"SELECT id, word FROM {{t}} WHERE id >= {middle} ORDER BY id LIMIT 10",
    }


def write_table(directory: Path, files: int, rows: int, every: int) -> None:
    """Write the log of a table, and the files around its middle."""
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in _SCHEMA.items()
    ]
    lines: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors"],
            }
        },
        {
            "metaData": {
                "id": "planning",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.enableDeletionVectors": "true"},
            }
        },
    ]
    vector = _vector(range(0, rows, 100))
    for file in range(files):
        name = f"part-{file:05}.parquet"
        lower, upper = file * rows, file * rows + rows - 1
        if abs(file - files // 2) < 4:
            pq.write_table(_rows(lower, upper), directory / name, row_group_size=rows)
        path = directory / name
        add = {
            "path": name,
            "partitionValues": {},
            "size": path.stat().st_size if path.exists() else 10 * rows,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(
                {
                    "numRecords": rows,
                    "minValues": {"id": lower, "unit": "feet"},
                    "maxValues": {"id": upper, "unit": "meters"},
                    "nullCount": dict.fromkeys(_SCHEMA, 0),
                    "tightBounds": False,
                }
            ),
        }
        if every and file % every == 0:
            add["deletionVector"] = vector
        lines.append({"add": add})
    log = directory / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def _rows(lower: int, upper: int) -> pa.Table:
    ids = range(lower, upper + 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "word": [f"word {number % 1000}" for number in ids],
            "unit": ["feet" if number % 2 else "meters" for number in ids],
            "value": [number * 1.5 for number in ids],
        }
    )


def _vector(rows: Sequence[int]) -> dict[str, Any]:
    content = struct.pack("<I", _MAGIC) + bytes(BitMap64(rows).serialize())
    padded = content + bytes(-len(content) % 4)
    text = base64.b85encode(padded).translate(bytes.maketrans(_B85, _Z85)).decode()
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(content),
        "cardinality": len(rows),
    }


def timed(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the seconds of the first call, and the median of those of the others."""
    seconds = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - began)
    return seconds[0], statistics.median(seconds[1:])


def measure(spark: Any, directory: Path, files: int, rows: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Return the figures of each query over a table."""
    opening = timed(lambda: pruning.table(spark, directory), rounds)
    frame = pruning.table(spark, directory)
    results: dict[str, dict[str, Any]] = {}
    for name, sql in queries(files, rows).items():
        frame.createOrReplaceTempView("t")
        query = spark.sql(sql.format(t="t"))
        planning = timed(lambda query=query: pruning.prune(query), rounds)
        pruned = pruning.prune(query)
        kept = pruned.inputFiles()
        spark.read.parquet(*kept).createOrReplaceTempView("chosen")
        by_hand = spark.sql(sql.format(t="chosen"))
        # Both are planned anew each time.
        reading = timed(lambda pruned=pruned: spark_rows(pruned), rounds)
        chosen = timed(lambda by_hand=by_hand: spark_rows(by_hand), rounds)
        results[name] = {
            "open": opening,
            "plan": planning,
            "read": reading,
            "by hand": chosen,
            "files": [file.rpartition("/")[2] for file in kept],
        }
    return results


def spark_rows(frame: Any) -> Any:
    """Return the rows of a query, which is planned anew."""
    return frame.select("*").collect()


def main() -> None:
    """Measure, print the figures, and say which bars are missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    settings = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
    with spark_session(settings) as spark:
        figures = {
            table: _measure_new(spark, every, options.files, options.rows, options.rounds)
            for table, every in EVERY.items()
        }
    shown = Table("table", "query", *(f"{name} s" for name in TIMES), "ratio", "files")
    missed = []
    for table, by_query in figures.items():
        for query, of_query in by_query.items():
            ratio = of_query["read"][1] / of_query["by hand"][1]
            pairs = (of_query[name] for name in TIMES)
            seconds = (f"{first:.2f} {later:.2f}" for first, later in pairs)
            shown.add_row(table, query, *seconds, f"{ratio:.2f}", str(len(of_query["files"])))
            if of_query["plan"][1] > PLAN_SECONDS_MAX:
                missed.append(f"{table}, {query}: planning takes {of_query['plan'][1]:.2f} s")
            if ratio > RATIO_MAX:
                missed.append(f"{table}, {query}: reading takes {ratio:.2f} times as long as by hand")
            if of_query["files"] != figures["no deletes"][query]["files"]:
                missed.append(f"{table}, {query}: other files are opened than without deletes")
    console = Console(width=110)
    console.print(shown)
    console.print("\n".join(missed) or "All bars are met.")


def _measure_new(spark: Any, every: int, files: int, rows: int, rounds: int) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), files, rows, every)
        return measure(spark, Path(folder), files, rows, rounds)


if __name__ == "__main__":
    main()
