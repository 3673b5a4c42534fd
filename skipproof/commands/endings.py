"""Endings of the command: its exit statuses, and one sentence for whatever goes wrong."""

import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from typer.core import TyperGroup

from pruning.errors import InputError
from skipproof.sessions import is_query_error, spark_sentence

HELD, VIOLATED, UNUSABLE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
_REASON_CHARACTERS_MAX = 300


class _EndedByTyper(Exception):
    """An error that Typer would end with status 1, as if a violation had been found."""

    def __init__(self, error: Exception) -> None:
        """Keep the error."""
        self.error = error


class Commands(TyperGroup):
    """Commands whose every error reaches `run_to_status`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named.

        Raises:
            _EndedByTyper: it failed to read, write or talk to another process.
        """
        try:
            return super().invoke(ctx)
        except (EOFError, OSError) as error:
            raise _EndedByTyper(error) from error


def run_to_status(command: Callable[[], None]) -> None:
    """Run a command; where it fails, print one sentence and end the process with the status of the failure.

    Args:
        command: The command line; it raises `SystemExit` where nothing goes wrong.
    """
    # `kill` and `timeout` end a run as Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    # Without a handler, py4j's tracebacks of errors that it also raises would be printed.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        command()
    except InputError as error:
        _fail(str(error), UNUSABLE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except _EndedByTyper as error:
        _fail_run(error.error)
    # Python ends with status 1 after any other error, but this status means that a violation was found.
    except Exception as error:
        sentence = spark_sentence(error)
        if sentence is not None and is_query_error(error):
            _fail(sentence, UNUSABLE)
        _fail_run(error, sentence)


def _interrupt(number: int, frame: object) -> NoReturn:
    """Handle a signal as Ctrl-C."""
    raise KeyboardInterrupt


def _fail(sentence: str, status: int) -> NoReturn:
    """Print a sentence on standard error, and end the process with a status."""
    print(f"skipproof: {sentence}", file=sys.stderr)
    sys.exit(status)


def _fail_run(error: Exception, sentence: str | None = None) -> NoReturn:
    """Print one sentence that says how the run failed and where the traceback is; end with `FAILED`."""
    if isinstance(error, BrokenPipeError):
        # Python flushes standard output when it ends, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail("the run failed: its output was closed before all of it was written", FAILED)
    text = "".join(traceback.format_exception(error))
    reason = " ".join((sentence or str(error)).split())[:_REASON_CHARACTERS_MAX]
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="skipproof-", suffix="-traceback.txt", delete=False
        ) as file:
            file.write(text)
    except OSError:
        print(text, file=sys.stderr)
        place = "the traceback is above"
    else:
        place = f"the traceback is in {file.name}"
    _fail(f"the run failed: {type(error).__name__}{': ' if reason else ''}{reason}; {place}", FAILED)
