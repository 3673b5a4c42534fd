"""The errors of bad input, and of a package that is not installed."""


class InputError(ValueError):
    """Input that cannot be used; its text is one sentence that names what is wrong and what to do."""


class MissingPackage(InputError, ImportError):
    """A package that an extra installs is missing or of another release; the text says how to get it."""
