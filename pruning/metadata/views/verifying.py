"""Verification of block metadata: comparing the believed facts about each block with its data.

pyarrow reads the data in a child process, because a bad file may end the process that reads it.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.expressions.names import Inside
from pruning.metadata.files.locations import locate
from pruning.metadata.footers.footer import Footer, read_footer
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import column_storage
from pruning.metadata.table.blocks import shards
from pruning.metadata.table.structs import field_of

BATCH_FILES = 32
# The time after which the check of a file is abandoned.
SECONDS_PER_FILE = 600
_SHOWN_CHARACTERS = 60
_READY = "ready\n"
_SERVE = "from pruning.metadata.views.verifying import serve; serve()"


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseClaim:
    """A believed fact about a row group that its data contradicts."""

    file: str
    row_group: int
    column: str
    claim: str
    says: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """The check of one file: the number of claims that were checked, and the false ones.

    `problems` are sentences about the file or the columns that could not be checked.
    """

    file: str
    claims: int = 0
    lies: tuple[FalseClaim, ...] = ()
    problems: tuple[str, ...] = ()


def verify(files: Sequence[str], *, seconds_per_file: float = SECONDS_PER_FILE) -> Iterator[FileCheck]:
    """Compare the believed facts about each file with its data, in the given order."""
    pending = list(files)
    while pending:
        batch = pending[:BATCH_FILES]
        answers, exit_reason = _check_in_child(batch, seconds_per_file)
        yield from answers
        pending = pending[len(answers) :]
        if len(answers) < len(batch):
            yield FileCheck(file=pending[0], problems=(f"{pending[0]}: {exit_reason}; leave it out",))
            pending = pending[1:]


def serve() -> None:
    """Run the child process: read a JSON list of files, print a ready line, then a line of JSON per file."""
    files = json.load(sys.stdin)
    print(_READY, end="", flush=True)
    for file in files:
        print(json.dumps(asdict(check_file(file))), flush=True)


def check_file(file: str) -> FileCheck:
    """Compare the believed facts about one file with its data, in this process."""
    try:
        footer = read_footer(file)
    except InputError as error:
        return FileCheck(file=file, problems=(str(error),))
    try:
        system, path = locate(file)
        with pq.ParquetFile(path, filesystem=system) as opened:
            return _check_blocks(file, footer, opened)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        return FileCheck(file=file, problems=(f"{file}: pyarrow cannot read it ({_first_line(error)})",))


def _check_in_child(files: list[str], seconds_per_file: float) -> tuple[list[FileCheck], str]:
    """Check files in a child process; return its answers, and how it ended if some are missing."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(child.stdout, lines))
    listener.start()
    answers: list[FileCheck] = []
    try:
        with contextlib.suppress(BrokenPipeError), child.stdin:
            child.stdin.write(json.dumps(files))
        # Wait for the ready line without a limit, so that the time limit of a file excludes the start.
        line = lines.get()
        while line.endswith("\n"):
            if line != _READY:
                answers.append(_from_json(json.loads(line)))
            line = lines.get(timeout=seconds_per_file)
        ending = _ending(child.wait())
    except queue.Empty:
        ending = f"takes longer than {seconds_per_file:g} seconds to read"
    finally:
        child.kill()
        child.wait()
        listener.join()
    return answers, ending


def _listen(lines: IO[str], received: "queue.SimpleQueue[str]") -> None:
    """Put each line on the queue as it arrives, and an empty one at the end."""
    with lines:
        for line in lines:
            received.put(line)
    received.put("")


def _from_json(answer: dict[str, Any]) -> FileCheck:
    lies = tuple(FalseClaim(**lie) for lie in answer["lies"])
    return FileCheck(
        file=answer["file"], claims=answer["claims"], lies=lies, problems=tuple(answer["problems"])
    )


def _ending(status: int) -> str:
    if status >= 0:
        return f"ends the process that reads it (status {status})"
    return f"kills the process that reads it ({signal.Signals(-status).name})"


def _check_blocks(file: str, footer: Footer, opened: pq.ParquetFile) -> FileCheck:
    (part,) = shards([(file, footer)])
    all_facts = part.table["columns"].combine_chunks()
    lies: list[FalseClaim] = []
    problems: dict[str, str] = {}
    claims = 0
    for ordinal, group in enumerate(footer.row_groups):
        for leaf in footer.leaves:
            if column_storage(leaf.element) is None or leaf.name in problems:
                continue
            facts = field_of(all_facts, leaf.name)[ordinal]
            try:
                comparisons = _compare_column(facts, group.row_count, leaf, opened, ordinal)
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                problems[leaf.name] = (
                    f"{file}: pyarrow cannot read its column {leaf.name} ({_first_line(error)})"
                )
                continue
            claims += len(comparisons)
            lies += [
                FalseClaim(file=file, row_group=ordinal, column=leaf.name, claim=claim, says=says, data=data)
                for claim, holds, says, data in comparisons
                if not holds
            ]
    return FileCheck(file=file, claims=claims, lies=tuple(lies), problems=tuple(problems.values()))


_Comparisons = list[tuple[str, bool, str, str]]


def _compare_column(
    facts: pa.StructScalar, rows: int, leaf: SchemaLeaf, opened: pq.ParquetFile, ordinal: int
) -> _Comparisons:
    """Return for each claim about a column of a row group: name, whether it holds, its value, the data's."""
    row_count, values = _column_values(leaf, opened, ordinal)
    comparisons: _Comparisons = [("row count", row_count == rows, str(rows), str(row_count))]
    nulls = facts["null_count"].as_py()
    if nulls is not None:
        comparisons.append(("NULL count", values.null_count == nulls, str(nulls), str(values.null_count)))
    if facts["min"].is_valid or facts["max"].is_valid:
        comparisons += _compare_bounds(facts, values)
    return comparisons


def _compare_bounds(facts: pa.StructScalar, values: pa.Array) -> _Comparisons:
    bound = facts["min"].type
    present = values.drop_null().cast(pa.binary() if pa.types.is_string(bound) else bound, safe=False)
    if pa.types.is_floating(bound):
        present = present.filter(pc.invert(pc.is_nan(present)))
    extremes = pc.min_max(present)
    comparisons: _Comparisons = []
    for side, outside, word in (("min", pc.less, "minimum"), ("max", pc.greater, "maximum")):
        claimed, data = facts[side].cast(present.type), extremes[side]
        if not claimed.is_valid:
            continue
        texts = _value_text(claimed), _value_text(data)
        beyond = data.is_valid and outside(data, claimed).as_py()
        comparisons.append((word, not beyond, *texts))
        if facts[f"{side}_exact"].as_py():
            attained = data.is_valid and pc.equal(data, claimed).as_py()
            comparisons.append((f"exact {word}", beyond or attained, *texts))
    return comparisons


def _column_values(leaf: SchemaLeaf, opened: pq.ParquetFile, ordinal: int) -> tuple[int, pa.Array]:
    """Return a row group's number of rows, and all values of a column; NULL if a parent is."""
    top = leaf.fields[0]
    table = opened.read_row_group(ordinal, columns=[top], use_threads=False)
    whole = table.column(table.schema.get_field_index(top)).combine_chunks()
    values = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    for name in leaf.fields[1:]:
        values = field_of(values, name)
    if leaf.below is not None:
        values = _values_inside(values, leaf.inside)
        for name in leaf.below:
            values = field_of(values, name)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return len(table), values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _values_inside(column: pa.Array, inside: Inside | None) -> pa.Array:
    """Return all elements of arrays, or all keys or values of maps."""
    if inside is Inside.ELEMENTS:
        return pc.list_flatten(column)
    return column.keys if inside is Inside.KEYS else column.items


def _value_text(value: pa.Scalar) -> str:
    """Return a value as text, without converting it to Python, which cannot represent some dates."""
    if not value.is_valid:
        return "no value"
    text = repr(value.as_py()) if pa.types.is_binary(value.type) else str(value.cast(pa.string()).as_py())
    return (
        text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"
    )


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
