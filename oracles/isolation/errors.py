"""The error of the isolation checker."""


class UnusableHistory(ValueError):
    """A history that cannot be judged; the message is one clause that names the problem.

    Attributes:
        row: The row of the file with the problem, counted from 0, or None.
    """

    def __init__(self, problem: str, *, row: int | None = None) -> None:
        super().__init__(problem)
        self.row = row
