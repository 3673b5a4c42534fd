"""The progress of a run: a bar on a terminal, lines anywhere else."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import Progress


@contextlib.contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress; yield a function whose arguments are the current step, the steps done, and all steps."""
    out = Console(stderr=True, highlight=False)
    began = time.monotonic()
    if quiet or not out.is_terminal:

        def say(what: str, done: int, total: int) -> None:
            if not quiet:
                print(
                    f"[{time.monotonic() - began:5.0f} s] {done}/{total} {what}", file=sys.stderr, flush=True
                )

        yield say
        return
    with Progress(console=out, transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def advance(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        yield advance
