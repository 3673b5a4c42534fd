"""The classes of published pruning bugs that a world could show."""

from collections.abc import Iterator

from strategies.engines.engine_questions import World
from strategies.engines.engine_tables import StoredTable
from strategies.engines.engine_values import integer_range
from strategies.engines.questions import Call, Question, subterms

DATA = (
    "NAN", "NOSTATS", "BADSTATS", "PART", "NULLS", "PAGE", "STR", "TS", "SCHEMA", "BLOOM", "TRUNC", "DICT",
    "DECIMAL", "NESTED", "ALLNULL", "EMPTY", "OVERFLOW", "NEGZERO", "UINT",
)  # fmt: skip
SHAPES = ("NULLSAFE", "NEG", "JOIN", "LIMIT", "TOPK", "EXPR", "OR", "IN", "AGG", "LIKE", "RANGE")

_NEGATIONS = {"not", "!=", "is distinct from"}
_NULL_AWARE = {"is null", "is not null", "is not distinct from", "is distinct from"}
_COMPUTED = {"+", "-", "*", "%", "cast", "try cast", "coalesce", "if", "abs"}


def classes(world: World) -> frozenset[str]:
    """The classes, by their short names."""
    found: set[str] = set()
    for table in world.tables.values():
        found.update(_of_layout(table))
        for position, column in enumerate(table.queried_columns):
            blocks = [[row[position] for row in block] for block in table.blocks]
            found.update(_of_column(table, column.name, column.type, blocks))
    for question in world.questions:
        found.update(_of_question(question))
    return frozenset(found)


def _of_layout(table: StoredTable) -> Iterator[str]:
    layout = table.layout
    if layout.statistics is not None or layout.files_without or layout.forgotten:
        yield "NOSTATS"
    if layout.partitioned:
        yield "PART"
    if layout.evolution:
        yield "SCHEMA"
    if layout.page_index and layout.rows_per_page:
        yield "PAGE"
    if layout.ballast:
        yield "NESTED"
    if any(not block for block in table.blocks):
        yield "EMPTY"


def _of_column(table: StoredTable, name: str, type_: str, blocks: list[list[object]]) -> Iterator[str]:
    cells = [cell for block in blocks for cell in block]
    if type_.startswith("float"):
        if {"NaN", "-NaN"}.intersection(map(str, cells)):
            yield "NAN"
        if any(str(cell) == "-0.0" for cell in cells):
            yield "NEGZERO"
    if any(None in block and set(map(repr, block)) != {"None"} for block in blocks):
        yield "NULLS"
    if any(block and all(cell is None for cell in block) for block in blocks):
        yield "ALLNULL"
    if name in table.layout.filters:
        yield "BLOOM"
    if table.layout.dictionary and len(set(map(repr, cells))) < len(cells):
        yield "DICT"
    if type_ == "string":
        yield "STR"
        if any(isinstance(cell, str) and len(cell) > 16 for cell in cells):
            yield "TRUNC"
    if type_.startswith("timestamp"):
        yield "TS"
    if type_.startswith("decimal"):
        yield "DECIMAL"
        # What writers have got wrong: the order of negative decimals of several pages.
        if table.layout.rows_per_page and any(str(cell).startswith("-") for cell in cells):
            yield "BADSTATS"
    if type_.startswith(("int", "uint")):
        low, high = integer_range(type_)
        if {low, high}.intersection(cells) - {0}:
            yield "OVERFLOW"
        if low == 0 and any(isinstance(cell, int) and cell > high // 2 for cell in cells):
            yield "UINT"


def _of_question(question: Question) -> Iterator[str]:
    yield from {"join": ["JOIN"], "limit": ["LIMIT"], "topk": ["TOPK"], "aggregate": ["AGG"]}.get(
        question.area, []
    )
    for term in question.terms:
        for part in subterms(term):
            if isinstance(part, Call):
                yield from _of_call(part.function)


def _of_call(function: str) -> Iterator[str]:
    if function in _NULL_AWARE:
        yield "NULLSAFE"
    if function in _NEGATIONS:
        yield "NEG"
    if function in _COMPUTED:
        yield "EXPR"
    if function == "or":
        yield "OR"
    if function == "in":
        yield "IN"
    if function in ("like", "starts with"):
        yield "LIKE"
    if function in ("<", "<=", ">", ">=", "between"):
        yield "RANGE"
