"""Whether files tell the truth about themselves: what is believed of each block, beside its data.

pyarrow reads the data, in a process of its own: a file may end the process that reads it.
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
from pruning.metadata.files.locations import locate
from pruning.metadata.footers.footer import Footer, read_footer
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.physical_types import form_of
from pruning.metadata.table.blocks import shards
from pruning.metadata.table.structs import field_of

BATCH_FILES = 32
# A file that takes longer is given up; the data of a row group is read column by column.
SECONDS_PER_FILE = 600
_SHOWN_CHARACTERS = 60
_READY = "ready\n"
_SERVE = "from pruning.metadata.views.verifying import serve; serve()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """Something that is believed of a row group and that its data contradicts."""

    file: str
    row_group: int
    column: str
    claim: str
    says: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One file beside its data: how many statements were checked, and which are false.

    `problems` are sentences about what could not be checked, the whole file or some columns.
    """

    file: str
    claims: int = 0
    lies: tuple[Lie, ...] = ()
    problems: tuple[str, ...] = ()


def verify(files: Sequence[str], *, seconds_per_file: float = SECONDS_PER_FILE) -> Iterator[Checked]:
    """Compare what is believed of each file with its data, in the order given."""
    pending = list(files)
    while pending:
        batch = pending[:BATCH_FILES]
        answers, ending = _in_child(batch, seconds_per_file)
        yield from answers
        pending = pending[len(answers) :]
        if len(answers) < len(batch):
            yield Checked(file=pending[0], problems=(f"{pending[0]}: {ending}; leave it out",))
            pending = pending[1:]


def serve() -> None:
    """Say when ready; then answer for the files that standard input lists as JSON, a line of JSON each."""
    files = json.load(sys.stdin)
    print(_READY, end="", flush=True)
    for file in files:
        print(json.dumps(asdict(check(file))), flush=True)


def check(file: str) -> Checked:
    """Compare what is believed of one file with its data, in this process."""
    try:
        footer = read_footer(file)
    except InputError as error:
        return Checked(file=file, problems=(str(error),))
    try:
        system, path = locate(file)
        with pq.ParquetFile(path, filesystem=system) as opened:
            return _checked(file, footer, opened)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        return Checked(file=file, problems=(f"{file}: pyarrow cannot read it ({_first_line(error)})",))


def _in_child(files: list[str], seconds_per_file: float) -> tuple[list[Checked], str]:
    """The answers of a process, and how it ended if some are missing."""
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
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(child.stdout, said))
    listener.start()
    answers: list[Checked] = []
    try:
        with contextlib.suppress(BrokenPipeError), child.stdin:
            child.stdin.write(json.dumps(files))
        # How long a process takes to start says nothing of a file.
        line = said.get()
        while line.endswith("\n"):
            if line != _READY:
                answers.append(_answer(json.loads(line)))
            line = said.get(timeout=seconds_per_file)
        ending = _ending(child.wait())
    except queue.Empty:
        ending = f"takes longer than {seconds_per_file:g} seconds to read"
    finally:
        child.kill()
        child.wait()
        listener.join()
    return answers, ending


def _listen(lines: IO[str], said: "queue.SimpleQueue[str]") -> None:
    """Pass lines on as they come; the last one, which no line end follows, when there are no more."""
    with lines:
        for line in lines:
            said.put(line)
    said.put("")


def _answer(found: dict[str, Any]) -> Checked:
    lies = tuple(Lie(**lie) for lie in found["lies"])
    return Checked(file=found["file"], claims=found["claims"], lies=lies, problems=tuple(found["problems"]))


def _ending(status: int) -> str:
    if status >= 0:
        return f"ends the process that reads it (status {status})"
    return f"kills the process that reads it ({signal.Signals(-status).name})"


def _checked(file: str, footer: Footer, opened: pq.ParquetFile) -> Checked:
    (part,) = shards([(file, footer)])
    known = part.table["columns"].combine_chunks()
    lies: list[Lie] = []
    problems: dict[str, str] = {}
    claims = 0
    for ordinal, group in enumerate(footer.row_groups):
        for leaf in footer.leaves:
            if form_of(leaf.element) is None or leaf.name in problems:
                continue
            facts = field_of(known, leaf.name)[ordinal]
            try:
                compared = _compared(facts, group.row_count, leaf, opened, ordinal)
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                problems[leaf.name] = (
                    f"{file}: pyarrow cannot read its column {leaf.name} ({_first_line(error)})"
                )
                continue
            claims += len(compared)
            lies += [
                Lie(file=file, row_group=ordinal, column=leaf.name, claim=claim, says=says, data=data)
                for claim, holds, says, data in compared
                if not holds
            ]
    return Checked(file=file, claims=claims, lies=tuple(lies), problems=tuple(problems.values()))


_Compared = list[tuple[str, bool, str, str]]


def _compared(
    facts: pa.StructScalar, rows: int, leaf: Leaf, opened: pq.ParquetFile, ordinal: int
) -> _Compared:
    """Each statement about a column of a row group: its name, whether it holds, what it and the data say."""
    row_count, values = _values(leaf, opened, ordinal)
    found: _Compared = [("row count", row_count == rows, str(rows), str(row_count))]
    nulls = facts["null_count"].as_py()
    if nulls is not None:
        found.append(("NULL count", values.null_count == nulls, str(nulls), str(values.null_count)))
    if facts["min"].is_valid or facts["max"].is_valid:
        found += _compared_bounds(facts, values)
    return found


def _compared_bounds(facts: pa.StructScalar, values: pa.Array) -> _Compared:
    bound = facts["min"].type
    present = values.drop_null().cast(pa.binary() if pa.types.is_string(bound) else bound, safe=False)
    if pa.types.is_floating(bound):
        present = present.filter(pc.invert(pc.is_nan(present)))
    extremes = pc.min_max(present)
    found: _Compared = []
    for side, outside, word in (("min", pc.less, "minimum"), ("max", pc.greater, "maximum")):
        said, data = facts[side].cast(present.type), extremes[side]
        if not said.is_valid:
            continue
        shown = _shown(said), _shown(data)
        beyond = data.is_valid and outside(data, said).as_py()
        found.append((word, not beyond, *shown))
        if facts[f"{side}_exact"].as_py():
            attained = data.is_valid and pc.equal(data, said).as_py()
            found.append((f"exact {word}", beyond or attained, *shown))
    return found


def _values(leaf: Leaf, opened: pq.ParquetFile, ordinal: int) -> tuple[int, pa.Array]:
    """How many rows a row group has, and all values of one of its columns, NULLs of parents among them."""
    top = leaf.fields[0]
    table = opened.read_row_group(ordinal, columns=[top], use_threads=False)
    whole = table.column(table.schema.get_field_index(top)).combine_chunks()
    values = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    for name in leaf.fields[1:]:
        values = field_of(values, name)
    if leaf.below is not None:
        values = pc.list_flatten(values)
        for name in leaf.below:
            values = field_of(values, name)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return len(table), values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _shown(value: pa.Scalar) -> str:
    """A value as text; not by way of Python, which has no room for some dates."""
    if not value.is_valid:
        return "no value"
    text = repr(value.as_py()) if pa.types.is_binary(value.type) else str(value.cast(pa.string()).as_py())
    return (
        text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"
    )


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
