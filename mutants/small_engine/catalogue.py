"""The catalogue of mutants of the small engine."""

from mutants.small_engine import (
    conditions,
    functions,
    pages,
    questions,
    reading,
    subqueries,
    windows,
    writing,
)
from mutants.small_engine.mutating import Mutant

MUTANTS: tuple[Mutant, ...] = tuple(
    member
    for module in (
        writing,
        reading,
        conditions,
        functions,
        pages,
        questions,
        windows,
        subqueries,
    )
    for member in vars(module).values()
    if isinstance(member, Mutant)
)
