"""A mutant of the small engine replaces one of its methods by a wrong one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.pruning import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A wrong version of the small engine.

    Attributes:
        cause: The published bug that it re-creates, in one sentence.
        classes: The data and questions that the bug needs.
        method: The method that `function` replaces.
        tables: `own` if only deletes and updates show the bug.
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


def compose(*mutants: Mutant) -> SmallEngine:
    """Return the small engine with the methods of several mutants replaced."""
    methods = {part.method: part.function for part in mutants}
    assert len(methods) == len(mutants)
    wrong: type[Rules] = type("Wrong", (Rules,), methods)
    return SmallEngine(wrong(), version=" and ".join(part.name for part in mutants))


def mutant(
    method: str, classes: str, thread: str, mistake: str, *, tables: str = "files"
) -> Callable[[Callable[..., Any]], Mutant]:
    """Make a mutant from the function that replaces a method; its name is the function's.

    Args:
        classes: Separated by spaces.
        thread: The place where the bug was reported.
        mistake: The mistake, in one sentence.
    """

    def make(function: Callable[..., Any]) -> Mutant:
        assert hasattr(Rules, method)
        return Mutant(
            name=function.__name__.replace("_", " "),
            cause=f"{thread}: {mistake}",
            classes=frozenset(classes.split()),
            method=method,
            function=function,
            tables=tables,
        )

    return make
