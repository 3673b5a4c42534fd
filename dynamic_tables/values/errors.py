"""Errors: definitions that cannot be maintained, and failures while a query runs."""

from pruning.errors import InputError


class Refused(InputError):
    """A definition that cannot be maintained, by the requested refresh mode or by any.

    Attributes:
        construct: The part of the definition that is refused, in a user's words (R-DVS-22).
    """

    def __init__(self, construct: str, reason: str) -> None:
        super().__init__(f"{construct} {reason}")
        self.construct = construct


class UserError(Exception):
    """An error of the data or the query, not of the system: the refresh fails (R-DVS-33)."""


class DivisionByZero(UserError):
    """A number was divided by zero."""


class Overflow(UserError):
    """A result lies outside its type: a number of more than 38 digits, a time not in the years 1 to 9999."""


class CastFailed(UserError):
    """A value has no counterpart in the type it was cast to."""


class DuplicateRowId(AssertionError):
    """Two rows of one result have the same row id: a defect of the code, never of the data (R-DVS-92)."""


class DerivativeLeft(AssertionError):
    """A derivative was left after differentiation: a defect of the code (R-DVS-93)."""
