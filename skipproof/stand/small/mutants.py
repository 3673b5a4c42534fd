"""The catalogue of mutants of the small engine."""

from skipproof.stand.small import (
    mutants_of_conditions,
    mutants_of_pages,
    mutants_of_questions,
    mutants_of_reading,
    mutants_of_writing,
)
from skipproof.stand.small.mutating import Mutant

MUTANTS: tuple[Mutant, ...] = tuple(
    found
    for module in (
        mutants_of_writing,
        mutants_of_reading,
        mutants_of_conditions,
        mutants_of_pages,
        mutants_of_questions,
    )
    for found in vars(module).values()
    if isinstance(found, Mutant)
)
