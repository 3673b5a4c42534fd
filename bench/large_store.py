"""Search the kept metadata of a table of millions of blocks: time, memory and what is read.

    python bench/large_store.py [--files N] [--blocks N] [--columns N] [--rounds N] [--stored]

A store is written for a table of FILES files with BLOCKS row groups each and COLUMNS columns, without its
data: `a` ascends over the files, `b` does not, `h` ascends and is in feet in every tenth file. Each query is
measured in a new process. "search" is from opening the store to the metadata of the files that are left,
after the store has been dropped from the page cache and, again, after a first search; "prune" is `prune` on a
DataFrame of the table, whose driver has a heap of 512 MB, the first and the second time. With `--stored`, the
DataFrame is that of `pruning.table`, and of the table's files only those exist that are left: of a table of
millions of files, nobody lists the others. The time of opening the table is then measured too.

Bars, at 30,000 files of 100 row groups and 100 columns: a selective filter on `a` reads at most 1 % of the
groups; a search takes at most 500 ms; the verdicts are those of the metadata in memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import pruning
from pruning.expressions.trees import And, Case, Column, Compare, Comparison, Expression, Literal
from pruning.expressions.types import DOUBLE, LONG, STRING, Type
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.places import FileStamp, Place, make_folder, places_of_directory
from pruning.metadata.store.contents import block_pieces, blocks_in
from pruning.metadata.store.history import Change, KeptFile
from pruning.metadata.store.log import FOLDER, NO_VERSION, commit, newest_version
from pruning.metadata.store.packs import Pack
from pruning.metadata.store.searching import SearchResult, search_packs
from pruning.metadata.store.snapshots import FilesLeft, open_snapshot, paths_of
from pruning.metadata.store.store import block_path, large_packs, open_store
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.schema import block_schema
from pruning.spark.drive.block_reading import NeededBlocks
from skipproof.sessions import spark_session

BLOCKS_PER_PACK, ROWS = 6_400, 1_000
GROUPS_SHARE_MAX, SECONDS_MAX, HEAP = 0.01, 0.5, "512m"
# The figures of one query.
Figures: TypeAlias = dict[str, Any]
A, B, H, UNIT = Column("a", LONG), Column("b", LONG), Column("h", LONG), Column("unit", STRING)
_PLAIN = {column.name: column.type for column in (A, B, H, UNIT)}


def types(columns: int) -> dict[str, Type]:
    """Return the table's columns."""
    others = {f"c{place}": DOUBLE if place % 2 else LONG for place in range(columns - len(_PLAIN))}
    return _PLAIN | others


def questions(rows: int) -> dict[str, tuple[str, Expression]]:
    """Return each query's condition in SQL and as an expression, for a table of so many rows."""
    low, high = rows // 3, rows // 3 + 20_000
    value = Case(((Compare(Comparison.EQUAL, UNIT, Literal(b"feet", STRING)), Literal(5, LONG)),), H)
    top = rows - rows // 1_000
    return {
        "clustered": (f"a BETWEEN {low} AND {high}", _between(A, low, high)),
        "not clustered": ("b BETWEEN 500000000 AND 500010000", _between(B, 500_000_000, 500_010_000)),
        "an IF of two": (
            f"CASE WHEN unit = 'feet' THEN 5 ELSE h END > {top}",
            Compare(Comparison.GREATER, value, Literal(top, LONG)),
        ),
    }


def _between(column: Column, low: int, high: int) -> Expression:
    return And(
        (
            Compare(Comparison.AT_LEAST, column, Literal(low, LONG)),
            Compare(Comparison.AT_MOST, column, Literal(high, LONG)),
        )
    )


def write_store(directory: Path, *, files: int, blocks: int, columns: int, stored: bool) -> None:
    """Write files that stand for the table's, and a store that has their metadata."""
    names = [f"{number:08}.parquet" for number in range(files)]
    stamp = write_files(directory, names[: 1 if stored else files], columns)
    place = Place(str(directory), str(directory / ".skipproof"))
    make_folder(place, FOLDER)
    kept: list[KeptFile] = []
    for first, shard in _shards(files, blocks, types(columns)):
        pack = f"{first:032x}"
        with open(block_path(place, pack), "wb") as file:
            file.writelines(block_pieces([shard]))
        for row, name in enumerate(names[first : first + BLOCKS_PER_PACK // blocks]):
            kept.append(KeptFile(name, stamp, 1, pack, row))
    change = Change(looked_us=1, complete=True, added=tuple(kept), removed=())
    assert commit(place, NO_VERSION, change, 0o644) is not None


def write_files(directory: Path, names: Iterable[str], columns: int) -> FileStamp:
    """Write files that stand for the table's, links to one file; return their size and time."""
    template = directory / ".template"
    if not template.exists():
        schema = block_schema(types(columns)).field("columns").type
        fields = [(field.name, field.type.field("min").type) for field in schema]
        pq.write_table(pa.schema(fields).empty_table(), template)
    for name in names:
        (directory / name).hardlink_to(template)
    status = template.stat()
    return status.st_size, status.st_mtime_ns


def unite(directory: Path) -> float:
    """Search the table for nothing, so that the summaries of its packs are united; return the seconds."""
    (place,) = places_of_directory(str(directory))
    snapshot = open_snapshot(place)
    assert snapshot is not None
    began = time.perf_counter()
    snapshot.search({"a"}, lambda metadata: np.zeros(len(metadata), bool))
    return time.perf_counter() - began


def _shards(files: int, blocks: int, columns: dict[str, Type]) -> Iterator[tuple[int, Shard]]:
    """Yield the first file of each pack, and the metadata of its files."""
    random = np.random.default_rng(7)
    files_per_pack = BLOCKS_PER_PACK // blocks
    schema = block_schema(columns)
    fields = list(schema.field("columns").type)
    size = files_per_pack * blocks
    fill = {field.name: _fill(field.type, random, size) for field in fields if field.name not in _PLAIN}
    for first in range(0, files, files_per_pack):
        count = min(files_per_pack, files - first) * blocks
        start = (first * blocks + np.arange(count)) * ROWS
        unit = pa.array(np.where(np.arange(count) // blocks % 10 == 0, "feet", "metres"), pa.string())
        scattered = random.integers(0, 10**9, count)
        bounds = {
            "a": (pa.array(start), pa.array(start + ROWS - 1)),
            "b": (pa.array(scattered), pa.array(scattered + 500_000)),
            "h": (pa.array(start), pa.array(start + ROWS - 1)),
            "unit": (unit, unit),
        }
        structs = [
            _statistics(field.type, random, *bounds[field.name])
            if field.name in bounds
            else fill[field.name].slice(0, count)
            for field in fields
        ]
        ordinals = np.tile(np.arange(blocks), count // blocks)
        rows = np.repeat(np.arange(count // blocks), blocks)
        arrays = [
            pa.array(rows).cast(pa.string()),
            pa.array(ordinals.astype(np.int32)),
            pa.array(ordinals * ROWS),
            pa.array(ordinals * 700_000),
            pa.array(np.full(count, 700_000)),
            pa.array(np.full(count, ROWS)),
            pa.StructArray.from_arrays(structs, fields=fields),
        ]
        yield (
            first,
            Shard(tuple(map(str, range(count // blocks))), pa.Table.from_arrays(arrays, schema=schema)),
        )


def _fill(type_: pa.StructType, random: np.random.Generator, size: int) -> pa.StructArray:
    bound = type_.field("min").type
    least = random.random(size) * 1e6 if pa.types.is_floating(bound) else random.integers(0, 10**9, size)
    return _statistics(type_, random, pa.array(least), pa.array(least + 1_000))


def _statistics(
    type_: pa.StructType, random: np.random.Generator, least: pa.Array, most: pa.Array
) -> pa.StructArray:
    exact = pa.array(np.ones(len(least), bool))
    lanes = {
        "null_count": pa.array(np.zeros(len(least), np.int64)),
        "byte_count": pa.array(random.integers(2_000, 9_000, len(least))),
        "min": least,
        "max": most,
        "min_exact": exact,
        "max_exact": exact,
    }
    arrays = [lanes.get(field.name, pa.nulls(len(least), field.type)) for field in type_]
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def measure(directory: Path, name: str, *, files: int, blocks: int, columns: int, stored: bool) -> Figures:
    """Measure one query in this process."""
    sql, condition = questions(files * blocks * ROWS)[name]
    question = NeededBlocks(condition, types(columns))
    (place,) = places_of_directory(str(directory))
    listing = None if stored else list_files(str(directory))
    drop_from_page_cache(Path(place.folder))

    def search() -> tuple[FilesLeft | SearchResult, float]:
        began = time.perf_counter()
        if listing is None:
            snapshot = open_snapshot(place)
            assert snapshot is not None
            left: FilesLeft | SearchResult = snapshot.search(_names(condition), question)
        else:
            packs = large_packs(open_store(listing), listing)
            assert packs is not None
            left = search_packs(packs, _names(condition), question)
        return left, time.perf_counter() - began

    result, cold = search()
    _, warm = search()
    peak = int(_status(os.getpid(), "VmHWM")) >> 10
    groups = [result.groups_read, result.groups_total]
    figures: Figures = {"groups": groups, "cold": cold, "warm": warm, "peak": peak}
    left_blocks = _locators(result.shards, question)
    if isinstance(result, FilesLeft):
        paths = paths_of(result.files)
        write_files(directory, (path for path in paths if not (directory / path).exists()), columns)
        left_blocks = {(paths[int(file)], row_group) for file, row_group in left_blocks}
    else:
        left_blocks = {(os.path.basename(file), row_group) for file, row_group in left_blocks}
    with spark_session({"spark.driver.memory": HEAP, "spark.master": "local[2]"}) as spark:
        schema = ", ".join(f"`{name}` {type_.sql}" for name, type_ in types(columns).items())
        began = time.perf_counter()
        table = (
            pruning.table(spark, str(directory))
            if stored
            else spark.read.schema(schema).parquet(str(directory))
        )
        figures["opened"] = time.perf_counter() - began
        df = table.filter(sql)
        df._jdf.queryExecution().optimizedPlan()
        for label in ("first", "second"):
            began = time.perf_counter()
            (scan,) = pruning.explain(df).scans
            figures[label] = time.perf_counter() - began
        figures["report"] = [scan.files_kept, scan.files_total, scan.blocks_kept, scan.blocks_total]
        java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
        figures["java"] = int(_status(java, "VmHWM")) >> 10
    figures["python"] = int(_status(os.getpid(), "VmHWM")) >> 10
    figures["same"] = left_blocks == _locators_in_memory(place, condition, question)
    return figures


def _names(condition: Expression) -> frozenset[str]:
    from pruning.expressions.traversal import leaf_names

    return frozenset(leaf_names(condition))


def drop_from_page_cache(folder: Path) -> None:
    """Ask the operating system to forget the content of a folder's files."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def _locators(shards: Iterable[Shard], question: NeededBlocks) -> set[tuple[str, int]]:
    """Return the blocks that are left, by file and row group."""
    return {
        located
        for shard in shards
        for located in zip(
            *(
                shard.table.filter(pa.array(question(shard.table)))[field].to_pylist()
                for field in ("file", "row_group")
            ),
            strict=True,
        )
    }


def _locators_in_memory(place: Place, condition: Expression, question: NeededBlocks) -> set[tuple[str, int]]:
    """Return the blocks that are left by the metadata of all files, pack by pack."""
    files = {(file.pack, file.row): file.path for file in newest_version(place).history.files.values()}
    return {
        (files[pack, int(row)], row_group)
        for pack in {pack for pack, _ in files}
        for row, row_group in _locators(blocks_in(Pack(block_path(place, pack)), _names(condition)), question)
    }


def _status(process: int, name: str) -> str:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name))


def main() -> None:
    """Print the medians of each query; status 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=30_000, help="files (default %(default)s)")
    parser.add_argument("--blocks", type=int, default=100, help="row groups of each (default %(default)s)")
    parser.add_argument("--columns", type=int, default=100, help="columns (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default %(default)s)")
    parser.add_argument("--stored", action="store_true", help="open the table from the store")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = {name: getattr(arguments, name) for name in ("files", "blocks", "columns", "stored")}
    if arguments.measure:
        directory, name = arguments.measure
        print(json.dumps(measure(Path(directory), name, **shape)))
        return
    with tempfile.TemporaryDirectory() as directory:
        write_store(Path(directory), **shape)
        united = unite(Path(directory))
        size = sum(path.stat().st_size for path in Path(directory, ".skipproof").rglob("*.blocks"))
        names = list(questions(1))
        runs: dict[str, list[Figures]] = {name: [] for name in names}
        for _ in range(arguments.rounds):
            for name in names:
                command = [sys.executable, *sys.argv, "--measure", directory, name]
                answer = subprocess.run(command, capture_output=True, check=False, text=True)
                if answer.returncode:
                    sys.exit(answer.stderr)
                runs[name].append(json.loads(answer.stdout.splitlines()[-1]))
    print(
        f"{arguments.files:,} files of {arguments.blocks:,} blocks, {arguments.columns} columns: "
        f"{size:,} bytes kept; {united:.1f} s for the summaries of all packs, once"
    )
    Console(width=150).print(grid(runs))
    sys.exit(0 if all(map(is_met, runs.items())) else 1)


def is_met(entry: tuple[str, list[Figures]]) -> bool:
    """Tell whether a query's runs meet the bars."""
    name, runs = entry
    groups_max = GROUPS_SHARE_MAX if name == "clustered" else 1
    return (
        all(run["same"] and run["groups"][0] <= groups_max * run["groups"][1] for run in runs)
        and _median(runs, "cold") <= SECONDS_MAX
    )


def _median(runs: list[Figures], figure: str) -> float:
    return float(np.median([run[figure] for run in runs]))


def grid(runs_by_name: dict[str, list[Figures]]) -> Table:
    """Return the medians as a table of columns."""
    table = Table(title="seconds, medians; MB at the peak")
    headings = (
        *("condition", "groups read", "files kept", "search, cold", "again", "MB"),
        *("DataFrame", "prune, first"),
    )
    for heading in (*headings, "again", "Python, MB", "Java, MB", "as in memory", "bars"):
        table.add_column(heading, justify="left" if heading == "condition" else "right")
    for name, runs in runs_by_name.items():
        last = runs[-1]
        table.add_row(
            name,
            f"{last['groups'][0]:,} of {last['groups'][1]:,}",
            f"{last['report'][0]:,} of {last['report'][1]:,}",
            *(f"{_median(runs, figure):.3f}" for figure in ("cold", "warm")),
            f"{_median(runs, 'peak'):,.0f}",
            *(f"{_median(runs, figure):.2f}" for figure in ("opened", "first", "second")),
            *(f"{_median(runs, figure):,.0f}" for figure in ("python", "java")),
            "yes" if all(run["same"] for run in runs) else "NO",
            "met" if is_met((name, runs)) else "MISSED",
        )
    return table


if __name__ == "__main__":
    main()
