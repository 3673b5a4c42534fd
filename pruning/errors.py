"""The one error that bad input raises."""


class InputError(ValueError):
    """Input that cannot be used; its text is one sentence that names what is wrong and what to do."""
