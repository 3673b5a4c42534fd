"""A process that runs one engine, so that an engine that hangs or crashes does not harm the stand.

The protocol, JSON lines over standard input and output, is in `docs/reference/stand.md`.
"""

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

PROTOCOL = 1
SECONDS_TO_START = 120.0
SECONDS_TO_END = 5.0
_STDERR_CHARACTERS_MAX = 300


class WorkerError(Exception):
    """The worker cannot be used at all; the message says why and what to do."""


class Died(Exception):
    """The worker ended, or wrote something that is no reply, during a request."""


class TimedOut(Exception):
    """The worker did not reply in time, and was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first message of a worker, about its engine; `docs/reference/stand.md` defines the fields."""

    engine: str
    version: str
    tables: str
    areas: frozenset[str]
    functions_missing: frozenset[str]
    types_missing: frozenset[str]
    joins_missing: frozenset[str]
    differs: frozenset[str]
    settings: Mapping[str, Sequence[str]]
    writes: bool
    formats: frozenset[str] = frozenset({"parquet"})
    layouts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    schema_options: frozenset[str] = frozenset()
    single_threaded: Mapping[str, str] = field(default_factory=dict)
    reader: str = ""
    features: bool = False

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """Read the first message of a worker.

        Raises:
            WorkerError: it has another version of the protocol, or lacks a field.
        """
        if message.get("protocol") != PROTOCOL:
            raise WorkerError(f"it speaks protocol {message.get('protocol')}; this stand speaks {PROTOCOL}")
        missing = [name for name in ("engine", "version", "areas") if name not in message]
        if missing:
            fields = ", ".join(missing)
            raise WorkerError(f"its first line lacks {fields}; docs/reference/stand.md has the fields")
        without, differs = message.get("without", {}), message.get("differs", {})
        return cls(
            engine=message["engine"],
            version=message["version"],
            tables=message.get("tables", "files"),
            areas=frozenset(message["areas"]),
            functions_missing=frozenset(without.get("functions", ())),
            types_missing=frozenset(without.get("types", ())),
            joins_missing=frozenset(without.get("joins", ())),
            differs=frozenset(word for words in differs.values() for word in words),
            settings=message.get("settings", {}),
            writes=bool(message.get("writes", False)),
            formats=frozenset(message.get("formats", ("parquet",))),
            layouts=message.get("layouts", {}),
            schema_options=frozenset(message.get("schema_options", ())),
            single_threaded=message.get("single_threaded", {}),
            reader=message.get("reader", message["engine"]),
            features=bool(message.get("features", False)),
        )


class EngineClient(Protocol):
    """A client of an engine: its worker, or an engine in the same process."""

    hello: Hello

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply."""


class Worker:
    """The process of one engine; it is started again after it ended, and its `TMPDIR` is removed.

    Args:
        command: The program and its arguments.
        seconds_max: The time limit of a reply.
    Raises:
        WorkerError: it does not start, or its first line is no valid message.
    """

    def __init__(self, command: Sequence[str], *, seconds_max: float = 30.0) -> None:
        self._command = list(command)
        self._seconds_max = seconds_max
        self._request_count = 0
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Raises:
            Died, TimedOut: there is no reply; the next request starts a new process.
        """
        if self._process.poll() is not None:
            self.close()
            self._start()
        self._request_count += 1
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": self._request_count, **request}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            # The process reads no more, so it is about to end: wait for its status, which the error contains.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS_TO_END)
            self.close()
            raise Died(self._last_words()) from error
        reply = self._next_line(self._seconds_max)
        if reply.get("id") != self._request_count:
            self.close()
            raise Died(f"a reply to {reply.get('id')} where one to {self._request_count} was due")
        return reply

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            # Closing flushes input that the process has not read.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._directory.cleanup()

    def _start(self) -> None:
        """Start the process, and read its first message."""
        # The file stays open as long as the process may write into it.
        self._errors = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115
        # Processes that the engine started may still write while the directory is removed.
        self._directory = tempfile.TemporaryDirectory(prefix="skipproof-", ignore_cleanup_errors=True)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                env=os.environ | {"TMPDIR": self._directory.name},
                # In a session of its own the worker gets no Ctrl-C; the stand ends it.
                start_new_session=True,
            )
        except OSError as error:
            self._directory.cleanup()
            raise WorkerError(f"{self._command[0]} cannot be started: {error}") from error
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_copy_lines, args=(self._process.stdout, self._lines), daemon=True).start()
        try:
            self.hello = Hello.from_message(self._next_line(SECONDS_TO_START))
        except (Died, TimedOut, WorkerError) as error:
            self.close()
            raise WorkerError(f"{' '.join(self._command)}: {error}") from error

    def _next_line(self, seconds_max: float) -> dict[str, Any]:
        """Return the next message of the process; end the process if there is none in time."""
        try:
            line = self._lines.get(timeout=seconds_max)
        except queue.Empty as error:
            self.close()
            raise TimedOut(f"no reply within {seconds_max:g} s") from error
        if not line:
            self._process.wait()
            raise Died(self._last_words())
        try:
            message = json.loads(line)
        except ValueError as error:
            self.close()
            raise Died(f"a line that is no JSON: {line[:80]!r}") from error
        if not isinstance(message, dict):
            self.close()
            raise Died(f"a line that is no JSON object: {line[:80]!r}")
        return message

    def _last_words(self) -> str:
        """Return the status of the process and the end of its standard error."""
        self._errors.seek(0)
        words = " ".join(self._errors.read().split())[-_STDERR_CHARACTERS_MAX:]
        return f"it ended with status {self._process.poll()}{': ' + words if words else ''}"


def _copy_lines(lines: Any, into: queue.Queue[str]) -> None:
    """Put lines into a queue, and an empty line at the end."""
    for line in lines:
        into.put(line)
    into.put("")
