"""The errors for bad input and missing packages, and the warnings."""


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what is wrong and what to do."""


class MissingPackage(InputError, ImportError):
    """A package of an extra is missing or of an unsupported release; the message says how to install it."""


class SkippedFileWarning(UserWarning):
    """A file in a directory is not a Parquet file and was skipped."""


class DamagedMetadataWarning(UserWarning):
    """Kept metadata cannot be read; it was not used, and footers were read again if necessary."""


class UnkeptMetadataWarning(UserWarning):
    """Metadata could not be kept in an object store; the answer is right, and the next call reads again."""
