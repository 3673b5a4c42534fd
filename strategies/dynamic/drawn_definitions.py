"""Random definitions in SQL, over tables with the values that are hard to compare and to add."""

from random import Random
from typing import NamedTuple

from dynamic_tables.maintenance.algebra import Relation
from strategies.dynamic.base_tables import INTERVALS, WriteHistory, drawn_history
from strategies.dynamic.contents import CELLS, FIELDS, SourceTable
from strategies.dynamic.queries import drawn_query
from strategies.dynamic.query_texts import relation_text

# By name: the names of the columns, of one letter each.
COLUMNS = {"t0": "ktna", "t1": "kfdn", "t2": "kbtd"}
FIELD_OF = {field.name: field for field in FIELDS}
LETTERS: tuple[SourceTable, ...] = tuple(
    SourceTable(identity, tuple(FIELD_OF[name] for name in names)) for identity, names in COLUMNS.items()
)


class DrawnDefinition(NamedTuple):
    """A random relation, and the SQL that means the same."""

    relation: Relation
    text: str


def drawn_definition(seed: int) -> DrawnDefinition:
    """Draw a definition: of one operator, or of up to three above each other."""
    relation = drawn_query(Random(seed), LETTERS, 3 if seed % 2 else 1)
    return DrawnDefinition(relation, relation_text(relation))


def letters_history(seed: int, intervals: int = INTERVALS) -> WriteHistory:
    """Draw writes to the tables that drawn definitions read."""
    return drawn_history(Random(seed), LETTERS, CELLS, intervals)
