"""Files by several writers: the layout of a table names who writes them, pyarrow or an engine's worker."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from skipproof.stand.hunt.examining import Write
from skipproof.stand.workers.workers import Asked, Died, TimedOut
from strategies.engines.engine_tables import ALONE, Stored, Writers
from strategies.engines.files import write_stored


class NotWritten(Exception):
    """The worker did not write a file; the message is its own."""


def writing(workers: Mapping[str, Asked]) -> Write:
    """A function that writes the files of a table.

    What a worker does not write, pyarrow does: that an engine cannot write a table is not what is hunted for.

    Args:
        workers: Who writes, by the names that layouts have for them.
    """

    def write(table: Stored, directory: Path) -> list[Path]:
        worker = workers.get(table.layout.writer)
        if worker is None:
            return write_stored(table, directory)
        try:
            return written_by(worker, table, directory)
        except NotWritten:
            shutil.rmtree(directory)
            directory.mkdir()
            return write_stored(table, directory)

    return write


def writers(workers: Mapping[str, Asked]) -> Writers:
    """Who may write, in order, with the options of its files; pyarrow is the first."""
    found = dict(ALONE)
    for name, worker in workers.items():
        if worker.hello.writes:
            found[name] = worker.hello.layouts if worker.hello.tables == "files" else {}
    return found


def written_by(worker: Asked, table: Stored, directory: Path) -> list[Path]:
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
