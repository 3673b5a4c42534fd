"""Child processes that read the data of files in batches: a file that ends its reader fails alone.

A child is a module that `python -m` runs. Its input is JSON, its output an Arrow stream.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from pruning.metadata.files.listing import ListedFile
from pruning.metadata.table.reading import ReadResult, from_bytes, to_bytes

# The limits of a batch, which one process reads. An index tells rare values from frequent ones by a batch.
_BATCH_BYTES = 256 << 20
_BATCH_FILES = 500
_BATCH_SECONDS_MAX = 3_600
_PROCESSES_MAX = 4


def file_batches(files: Sequence[ListedFile]) -> list[list[ListedFile]]:
    """Return the files in batches, in their order."""
    batches: list[list[ListedFile]] = []
    size = 0
    for listed in files:
        size += listed.size_bytes
        if not batches or size > _BATCH_BYTES or len(batches[-1]) == _BATCH_FILES:
            batches.append([])
            size = listed.size_bytes
        batches[-1].append(listed)
    return batches


def read_in_processes(
    module: str, batches: Sequence[Sequence[ListedFile]], options: dict[str, object]
) -> Iterator[ReadResult]:
    """Yield the outcome of each batch, in their order, as child processes read them.

    Args:
        module: The module that a child runs; it calls `run_child`.
        batches: The files.
        options: The other arguments of the child's function, which JSON can hold.
    """
    with ThreadPoolExecutor(min(_PROCESSES_MAX, os.cpu_count() or 1)) as pool:
        names = [[listed.file for listed in batch] for batch in batches]
        yield from pool.map(lambda files: _read_batch(module, files, options, _run_process), names)


def run_child(read: Callable[..., ReadResult]) -> None:
    """Run a child: read the files that standard input names, and write the outcome to standard output."""
    arguments = json.load(sys.stdin)
    sys.stdout.buffer.write(_to_stream(read(arguments.pop("files"), **arguments)))


Run = Callable[[str, list[str], dict[str, object]], ReadResult | str]


def _read_batch(module: str, files: list[str], options: dict[str, object], run: Run) -> ReadResult:
    """Read some files; if they end the process, halve the batch to find the file that does."""
    answer = run(module, files, options)
    if isinstance(answer, ReadResult):
        return answer
    if len(files) == 1:
        return ReadResult([], {files[0]: f"{files[0]}: {answer}"})
    middle = len(files) // 2
    halves = [_read_batch(module, half, options, run) for half in (files[:middle], files[middle:])]
    failures = {file: sentence for half in halves for file, sentence in half.failures.items()}
    return ReadResult([part for half in halves for part in half.shards], failures)


def _run_process(module: str, files: list[str], options: dict[str, object]) -> ReadResult | str:
    """Read the files in a child process; if it fails, return the reason as text."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    try:
        process = subprocess.run(
            (sys.executable, "-m", module),
            input=json.dumps({"files": files, **options}).encode(),
            env=environment,
            capture_output=True,
            timeout=_BATCH_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"reading its data took more than {_BATCH_SECONDS_MAX:,} s; leave it out"
    if process.returncode:
        return f"reading its data ended the process that did (exit status {process.returncode}); leave it out"
    return _from_stream(process.stdout)


def _to_stream(outcome: ReadResult) -> bytes:
    """Write the outcome as an Arrow stream: a row per shard, then a row per failure."""
    schema = pa.schema(
        [("files", pa.list_(pa.string())), ("blocks", pa.large_binary()), ("failure", pa.string())]
    )
    rows: list[dict[str, Any]] = [
        {"files": list(part.files), "blocks": to_bytes(part)} for part in outcome.shards
    ]
    rows += [{"files": [file], "failure": sentence} for file, sentence in outcome.failures.items()]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return bytes(sink.getvalue())


def _from_stream(data: bytes) -> ReadResult:
    """Read the outcome that `_to_stream` wrote."""
    with pa.ipc.open_stream(data) as reader:
        answers = reader.read_all()
    outcome = ReadResult([], {})
    for names, blocks, failure in zip(*(answers.column(name) for name in answers.schema.names), strict=True):
        if failure.is_valid:
            outcome.failures[names.as_py()[0]] = failure.as_py()
        else:
            outcome.shards.append(from_bytes(names.as_py(), blocks.as_buffer()))
    return outcome
