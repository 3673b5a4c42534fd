"""Writing of files by pyarrow or an engine's worker, which the layout of a table names."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from skipproof.stand.hunt.examining import Write
from skipproof.stand.workers.workers import Died, EngineClient, Hello, TimedOut
from strategies.engines.engine_tables import ALONE, PYARROW, StoredTable, Writers
from strategies.engines.files import write_stored
from strategies.engines.worlds import World


class NotWritten(Exception):
    """The worker did not write a file; the message is the worker's."""


def writer_name(hello: Hello) -> str:
    """Return the name in layouts of a writer that is not the reader itself: its engine and its release."""
    return f"{hello.engine} {hello.version}"


def writer_releases(world: World, hello: Hello) -> dict[str, str]:
    """Return the engine and release that writes the files of each table, by the table's name.

    Args:
        hello: The first message of the reader.
    """
    releases = {PYARROW: f"pyarrow {pa.__version__}", hello.engine: writer_name(hello)}
    if hello.tables == "own":
        return {}
    writers = {name: table.layout.writer for name, table in world.tables.items()}
    return {name: releases.get(writer, writer) for name, writer in writers.items()}


def make_write(workers: Mapping[str, EngineClient]) -> Write:
    """Return a function that writes the files of a table.

    pyarrow writes a table that a worker does not write, because failures to write are not hunted.

    Args:
        workers: The workers that write, by their names in layouts.
    """

    def write(table: StoredTable, directory: Path) -> list[Path]:
        worker = workers.get(table.layout.writer)
        if worker is None:
            return write_stored(table, directory)
        try:
            return write_with_worker(worker, table, directory)
        except NotWritten:
            shutil.rmtree(directory)
            directory.mkdir()
            return write_stored(table, directory)

    return write


def available_writers(workers: Mapping[str, EngineClient]) -> Writers:
    """Return the writers with the options of their files; pyarrow is the first."""
    options = dict(ALONE)
    for name, worker in workers.items():
        if worker.hello.writes:
            options[name] = worker.hello.layouts if worker.hello.tables == "files" else {}
    return options


def write_with_worker(worker: EngineClient, table: StoredTable, directory: Path) -> list[Path]:
    """Write a table's files through a worker, one request for each file.

    Raises:
        NotWritten: the worker refuses one of them, fails, or ends.
    """
    per_file, whole, options = table.layout.blocks_per_file, table.json, dict(table.layout.format_options)
    paths: list[Path] = []
    for first in range(0, len(table.blocks), per_file):
        path = directory / f"part-{len(paths):03}.parquet"
        part = whole | {"blocks": whole["blocks"][first : first + per_file]}
        try:
            reply = worker.ask(write={"table": part, "path": str(path), "options": options})
        except (Died, TimedOut) as error:
            raise NotWritten(str(error)) from error
        if "written" not in reply or not path.is_file():
            raise NotWritten(str(reply.get("error")))
        paths.append(path)
    return paths
