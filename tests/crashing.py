"""A crash of the process at any call that changes files."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import patch


class Crash(BaseException):
    """The process ends: nothing that it would do afterwards is done."""


@contextlib.contextmanager
def crash_at(writes: Iterable[tuple[Any, str]], number: int, *, after: bool) -> Iterator[None]:
    """End the process before or after the call with this number that changes files; later calls fail, too.

    Args:
        writes: The functions that change files, by their owners and names.
        number: The number of the call, from 0 on; one call may be inside another one.
        after: Whether the process ends after the call.
    """
    calls, has_ended = 0, False

    def counting(owner: Any, name: str) -> object:
        original = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            nonlocal calls, has_ended
            place, calls = calls, calls + 1
            if has_ended or (place == number and not after):
                has_ended = True
                raise Crash
            result = original(*arguments, **options)
            if place == number:
                has_ended = True
                raise Crash
            return result

        return call

    with contextlib.ExitStack() as patches:
        for owner, name in writes:
            patches.enter_context(patch.object(owner, name, counting(owner, name)))
        yield
