"""Going on after what should never be raised."""

from collections.abc import Callable

from pruning.errors import InputError


class Asserting:
    """Within it, what should never be raised is told to `broken`, and the world goes on.

    One object serves all: a world enters it once for each event.
    """

    def __init__(self, broken: Callable[[Exception], None]) -> None:
        self._broken = broken

    def __enter__(self) -> None:
        """Nothing is to be set up."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """A sentence for who asked is passed on, as is what ends the program."""
        if not isinstance(error, Exception) or isinstance(error, InputError):
            return False
        self._broken(error)
        return True
