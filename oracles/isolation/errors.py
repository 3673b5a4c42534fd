"""The one error of the isolation checker."""


class UnusableHistory(ValueError):
    """A history that cannot be judged; its text is one clause that names what is wrong.

    Attributes:
        row: The row of the file that says so, counted from 0, or None.
    """

    def __init__(self, problem: str, *, row: int | None = None) -> None:
        super().__init__(problem)
        self.row = row
