"""What a mutant of the small engine is: one of its methods replaced by a wrong one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.pruning import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A wrong version of the small engine.

    Attributes:
        cause: The published fault that it re-creates, in one sentence.
        classes: What data and which questions the fault needs.
        method: The method that `function` stands in for.
        tables: `own` if only deletes and updates show the fault.
    """

    name: str
    cause: str
    classes: frozenset[str]
    method: str
    function: Callable[..., Any]
    tables: str = "files"

    def engine(self) -> SmallEngine:
        """Return the small engine with the method replaced."""
        wrong: type[Rules] = type("Wrong", (Rules,), {self.method: self.function})
        return SmallEngine(wrong(), version=self.name, tables=self.tables)


def mutant(
    method: str, classes: str, thread: str, fault: str, *, tables: str = "files"
) -> Callable[[Callable[..., Any]], Mutant]:
    """Make a mutant of the function that stands in for a method; its name is the mutant's.

    Args:
        classes: Separated by spaces.
        thread: Where the fault was reported.
        fault: What is done wrong, in one sentence.
    """

    def made(function: Callable[..., Any]) -> Mutant:
        assert hasattr(Rules, method)
        return Mutant(
            name=function.__name__.replace("_", " "),
            cause=f"{thread}: {fault}",
            classes=frozenset(classes.split()),
            method=method,
            function=function,
            tables=tables,
        )

    return made
