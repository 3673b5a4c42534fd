"""A guard that reports exceptions that must never be raised, so that a simulation goes on."""

from collections.abc import Callable

from pruning.errors import InputError


class Guard:
    """A context that reports an exception that must never be raised to `broken`, and swallows it.

    One object serves all events of a world.

    """

    def __init__(self, broken: Callable[[Exception], None]) -> None:
        self._broken = broken

    def __enter__(self) -> None:
        """Do nothing: there is nothing to set up."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Report the exception; let an `InputError`, which is an answer for the user, and exits pass."""
        if not isinstance(error, Exception) or isinstance(error, InputError):
            return False
        self._broken(error)
        return True
