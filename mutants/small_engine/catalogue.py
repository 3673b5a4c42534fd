"""The catalogue of mutants of the small engine."""

from mutants.small_engine import conditions, pages, questions, reading, writing
from mutants.small_engine.mutating import Mutant

MUTANTS: tuple[Mutant, ...] = tuple(
    member
    for module in (
        writing,
        reading,
        conditions,
        pages,
        questions,
    )
    for member in vars(module).values()
    if isinstance(member, Mutant)
)
