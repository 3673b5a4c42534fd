"""A process that asks one engine: it may be old, hang, or die, and none of it harms the stand.

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
_STDERR_SHOWN = 300


class WorkerError(Exception):
    """The worker cannot be used at all; the message says why and what to do."""


class Died(Exception):
    """The worker ended, or said something that is no reply, while it was asked."""


class TimedOut(Exception):
    """The worker did not answer in time, and was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a worker says of its engine when it starts; `docs/reference/stand.md` has the fields."""

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
    layouts: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """Read the first line that a worker writes.

        Raises:
            WorkerError: it speaks another version of the protocol, or leaves out what it must say.
        """
        if said.get("protocol") != PROTOCOL:
            raise WorkerError(f"it speaks protocol {said.get('protocol')}; this stand speaks {PROTOCOL}")
        missing = [name for name in ("engine", "version", "areas") if name not in said]
        if missing:
            fields = ", ".join(missing)
            raise WorkerError(f"its first line lacks {fields}; docs/reference/stand.md has the fields")
        without, differs = said.get("without", {}), said.get("differs", {})
        return cls(
            engine=said["engine"],
            version=said["version"],
            tables=said.get("tables", "files"),
            areas=frozenset(said["areas"]),
            functions_missing=frozenset(without.get("functions", ())),
            types_missing=frozenset(without.get("types", ())),
            joins_missing=frozenset(without.get("joins", ())),
            differs=frozenset(word for words in differs.values() for word in words),
            settings=said.get("settings", {}),
            writes=bool(said.get("writes", False)),
            layouts=said.get("layouts", {}),
        )


class Asked(Protocol):
    """What the stand asks: an engine's worker, or an engine in the same process."""

    hello: Hello

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply."""


class Worker:
    """One engine's process; started anew after it died. What it leaves in its `TMPDIR` is removed with it.

    Args:
        command: The program and its arguments.
        seconds_max: How long a reply may take.
    Raises:
        WorkerError: it does not start, or its first line is not as it should be.
    """

    def __init__(self, command: Sequence[str], *, seconds_max: float = 30.0) -> None:
        self._command = list(command)
        self._seconds_max = seconds_max
        self._asked = 0
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply.

        Raises:
            Died, TimedOut: and the next request goes to a new process.
        """
        if self._process.poll() is not None:
            self.close()
            self._start()
        self._asked += 1
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": self._asked, **request}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            # It reads no more, so that it is about to end; its status says why.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS_TO_END)
            self.close()
            raise Died(self._last_words()) from error
        reply = self._next_line(self._seconds_max)
        if reply.get("id") != self._asked:
            self.close()
            raise Died(f"a reply to {reply.get('id')} where one to {self._asked} was due")
        return reply

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            # What the process did not read is still to be written.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._directory.cleanup()

    def _start(self) -> None:
        # Open for as long as the process may write into it.
        self._errors = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115
        # The engine's own children may still write while it is removed.
        self._directory = tempfile.TemporaryDirectory(prefix="skipproof-", ignore_cleanup_errors=True)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                env=os.environ | {"TMPDIR": self._directory.name},
                # The keyboard interrupts the stand, which then ends its workers.
                start_new_session=True,
            )
        except OSError as error:
            self._directory.cleanup()
            raise WorkerError(f"{self._command[0]} cannot be started: {error}") from error
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_copy, args=(self._process.stdout, self._lines), daemon=True).start()
        try:
            self.hello = Hello.of(self._next_line(SECONDS_TO_START))
        except (Died, TimedOut, WorkerError) as error:
            self.close()
            raise WorkerError(f"{' '.join(self._command)}: {error}") from error

    def _next_line(self, seconds_max: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds_max)
        except queue.Empty as error:
            self.close()
            raise TimedOut(f"no reply within {seconds_max:g} s") from error
        if not line:
            self._process.wait()
            raise Died(self._last_words())
        try:
            said = json.loads(line)
        except ValueError as error:
            self.close()
            raise Died(f"a line that is no JSON: {line[:80]!r}") from error
        if not isinstance(said, dict):
            self.close()
            raise Died(f"a line that is no JSON object: {line[:80]!r}")
        return said

    def _last_words(self) -> str:
        self._errors.seek(0)
        words = " ".join(self._errors.read().split())[-_STDERR_SHOWN:]
        return f"it ended with status {self._process.poll()}{': ' + words if words else ''}"


def _copy(lines: Any, into: queue.Queue[str]) -> None:
    """Pass lines on, and an empty one at the end."""
    for line in lines:
        into.put(line)
    into.put("")
