"""The errors of bad input and of packages that are not installed, and the warning of files passed over."""


class InputError(ValueError):
    """Input that cannot be used; its text is one sentence that names what is wrong and what to do."""


class MissingPackage(InputError, ImportError):
    """A package that an extra installs is missing or of another release; the text says how to get it."""


class SkippedFileWarning(UserWarning):
    """A file in a directory that is no Parquet file, so that nothing is said of it."""
