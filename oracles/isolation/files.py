"""Files of histories in both forms: reading them one by one, and converting one form into the other."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from oracles.isolation import notation
from oracles.isolation.columns import Columns, columns_of, history_of
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.parquet import SCHEMA, columns_of_part, history_parts, normalize
from oracles.isolation.parquet_rows import table_of

_PARQUET_BEGINS = b"PAR1"


class UnusableFile(ValueError):
    """A file from which no history can be read; the message is one sentence without the file's name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One history of a file, or the reason why there is none.

    Attributes:
        place: The place at which it begins, such as `line 3` or `row 17`, or the place of the problem.
    """

    place: str
    id: str
    columns: Columns | None
    problem: str | None = None


def entries(path: Path) -> Iterator[Entry]:
    """Yield the histories of a file, which its first bytes show to be Parquet or JSON lines.

    Raises:
        UnusableFile: It cannot be read, is Parquet without the columns, or holds no history.
    """
    count = 0
    try:
        with path.open("rb") as file:
            begins = file.read(len(_PARQUET_BEGINS))
        for entry in _of_parquet(path) if begins == _PARQUET_BEGINS else _of_lines(path):
            count += 1
            yield entry
    except OSError as error:
        raise UnusableFile(f"it cannot be read: {reason(error)}") from error
    if not count:
        raise UnusableFile("it holds no history")


def _of_lines(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            entry = _of_line(line, number)
            if entry is not None:
                yield entry


def _of_line(line: bytes, number: int) -> Entry | None:
    """Return the history of a line; None for an empty line."""
    place = f"line {number}"
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip()
    except UnicodeDecodeError as error:
        return Entry(place, place, None, f"byte {error.start + 1} is not UTF-8")
    if not text:
        return None
    try:
        history = notation.loads(text)
    except UnusableHistory as error:
        return Entry(place, place, None, str(error))
    name = history.id or place
    try:
        return Entry(place, name, columns_of(history))
    except UnusableHistory as error:
        return Entry(place, name, None, str(error))


def _of_parquet(path: Path) -> Iterator[Entry]:
    try:
        table = normalize(pq.read_table(path))
    except pa.ArrowException as error:
        why = str(error).partition("\n")[0]
        raise UnusableFile(f"it is not Parquet that can be read: {why}") from error
    except UnusableHistory as error:
        raise UnusableFile(str(error)) from error
    for part in history_parts(table):
        place = f"row {part.first + 1}"
        try:
            columns = columns_of_part(part)
            yield Entry(place, columns.id or place, columns)
        except UnusableHistory as error:
            row = part.first if error.row is None else error.row
            yield Entry(f"row {row + 1}", str(part.number), None, str(error))


def reason(error: OSError) -> str:
    """Return the reason why a file cannot be read or written, on one line."""
    message = os.strerror(error.errno) if error.errno else str(error)
    return message.partition("\n")[0]


def convert_histories(source: Path, target: Path) -> int:
    """Write the histories of a file to `target`, in columns if it is `.parquet`; return their number.

    Raises:
        UnusableFile: The source cannot be read, or one of its lines or rows is no history.
        ValueError: A version's name cannot be written in the notation.
        OSError: The target cannot be written.
    """
    histories = _usable_columns(entries(source))
    write = _write_parquet if target.suffix == ".parquet" else _write_lines
    beside = target.with_name(f".{target.name}.new")
    try:
        count = write(histories, beside)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return count


def _usable_columns(file_entries: Iterable[Entry]) -> Iterator[Columns]:
    for entry in file_entries:
        if entry.columns is None:
            raise UnusableFile(f"{entry.place}: {entry.problem}")
        yield entry.columns


def _write_lines(histories: Iterable[Columns], target: Path) -> int:
    count = 0
    with target.open("w", encoding="utf-8") as file:
        for columns in histories:
            file.write(notation.dumps(history_of(columns)) + "\n")
            count += 1
    return count


def _write_parquet(histories: Iterable[Columns], target: Path) -> int:
    count = 0
    with pq.ParquetWriter(target, SCHEMA) as writer:
        for count, columns in enumerate(histories, 1):
            writer.write_table(table_of(columns, count - 1))
    return count
