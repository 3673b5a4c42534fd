"""What a failure is made of, coarsely enough that two failures of one cause look alike."""

import re
from collections.abc import Iterable, Iterator

from oracles.answers.contradictions import Contradiction, Oracle, Verdict
from strategies.engines.engine_questions import World
from strategies.engines.engine_tables import PYARROW, Stored
from strategies.engines.questions import Call, Column, Literal, Question, Relation, Term, subterms

# Functions and types that share the code which prunes by them.
_FAMILIES = {
    "<": "ordering", "<=": "ordering", ">": "ordering", ">=": "ordering", "between": "ordering",
    "=": "equality", "in": "equality", "!=": "inequality", "is null": "null test", "is not null": "null test",
    "is not distinct from": "null-safe", "is distinct from": "null-safe", "is nan": "nan test",
    "like": "pattern", "starts with": "pattern", "+": "arithmetic", "-": "arithmetic", "*": "arithmetic",
    "%": "arithmetic", "cast": "cast", "try cast": "cast", "coalesce": "choice", "if": "choice",
}  # fmt: skip
_TYPES = {
    "int": "integer", "uint": "unsigned", "float": "floating", "decimal": "decimal", "string": "text",
    "binary": "bytes", "date": "time", "timestamp": "time", "boolean": "boolean",
}  # fmt: skip

AGAINST_THE_REFERENCE = "against the reference"
_ERROR, _WORDS = "error: ", 12
# What of the data and its files can be at fault.
_ODD = frozenset({"NaN", "NULL", "signed zero", "a bloom filter", "a page index", "partial statistics"})


def traits(world: World, question: Question, wrong: Contradiction) -> frozenset[str]:
    """The traits of one failure."""
    return frozenset(_traits(world, question, wrong))


def cause(found: frozenset[str]) -> frozenset[str]:
    """What failures of one cause have in common: what is odd about the data and its files, and their types.

    Of errors it is what they say. Where nothing is odd, the traits themselves: the question is what matters.
    So it is where both forms are wrong.
    """
    if AGAINST_THE_REFERENCE in found:
        return found
    said = frozenset(trait for trait in found if trait.startswith(_ERROR))
    if said:
        return said
    odd = {trait for trait in found if trait in _ODD or trait.startswith(("written by", "with "))}
    return frozenset(odd | (found & set(_TYPES.values()))) if odd else found


def said(wrong: Contradiction) -> str:
    """What an error says, without values and names, which differ each time; empty if it is none."""
    if wrong.verdict is not Verdict.RAISED:
        return ""
    words = re.sub(r"\W+", " ", re.sub(r"[\"'`(\[].*?[\"'`)\]]|[\d.]+|/\S+", " ", wrong.difference))
    return " ".join(words.split()[:_WORDS])


def family(term: Term) -> str:
    """The family of the outermost function of a condition, for tallies."""
    if isinstance(term, Call):
        return _FAMILIES.get(term.function, term.function)
    return "column" if isinstance(term, Column) else "literal"


def _traits(world: World, question: Question, wrong: Contradiction) -> Iterator[str]:
    yield f"{question.area}: {wrong.verdict.value}"
    in_files = wrong.oracle is not Oracle.REFERENCE
    if not in_files:
        yield AGAINST_THE_REFERENCE
    if wrong.verdict is Verdict.RAISED:
        yield f"{_ERROR}{said(wrong)}"
    if question.join is not None:
        yield f"{question.join.kind} join"
        yield from (f"join of {shape}" for relation in question.relations for shape in _shapes(relation))
    if question.limit is not None or question.offset:
        yield "LIMIT" if question.limit is not None else "OFFSET alone"
    if question.group:
        yield "GROUP BY"
    for term in question.terms:
        yield from _of_condition(term)
    for name in _named(question):
        for table in world.tables.values():
            if name in [column.name for column in table.columns]:
                yield from _of_column(table, name)
                yield from _of_statistics(table, name) if in_files else ()
    for table in world.tables.values() if in_files else ():
        yield from _of_files(table)
    for name, value in world.settings.items():
        if value:
            yield f"set {name}={value}"


def _shapes(relation: Relation) -> Iterator[str]:
    if relation.limit is not None:
        yield "a limited relation"
    if relation.distinct:
        yield "a distinct relation"


def _of_condition(term: Term) -> Iterator[str]:
    for part in subterms(term):
        if isinstance(part, Call):
            yield _FAMILIES.get(part.function, part.function)
        if isinstance(part, Literal):
            if part.value is None:
                yield "a NULL literal"
            elif part.value in ("NaN", "-NaN"):
                yield "a NaN literal"


def _named(question: Question) -> Iterable[str]:
    """The columns that decide which rows are in the answer."""
    terms = [part for term in question.terms for part in subterms(term)]
    columns = [part.name for part in terms if isinstance(part, Column)]
    keys = [question.join.left_key, question.join.right_key] if question.join is not None else []
    counted = [aggregate.of for aggregate in question.aggregates if aggregate.of]
    return dict.fromkeys([*columns, *keys, *counted])


def _of_column(table: Stored, name: str) -> Iterator[str]:
    kind = next(column.type for column in table.columns if column.name == name)
    cells = table.cells(name)
    yield _TYPES[kind.partition("(")[0].rstrip("0123456789")]
    if any(cell in ("NaN", "-NaN") for cell in cells if isinstance(cell, str)) and kind.startswith("float"):
        yield "NaN"
    if kind.startswith("float") and any(str(cell) == "-0.0" for cell in cells):
        yield "signed zero"
    if any(cell is None for cell in cells):
        yield "NULL"


def _of_statistics(table: Stored, name: str) -> Iterator[str]:
    layout = table.layout
    if name in layout.filters:
        yield "a bloom filter"
    if layout.page_index:
        yield "a page index"
    if layout.statistics is not None or layout.files_without or layout.forgotten:
        yield "partial statistics"


def _of_files(table: Stored) -> Iterator[str]:
    """What the files of a table have that a question meets without naming a column."""
    layout = table.layout
    if layout.partitioned:
        yield "partitioned files"
    if layout.evolution and len(table.blocks) > layout.blocks_per_file:
        yield f"columns {layout.evolution}"
    if layout.writer != PYARROW:
        yield f"written by {layout.writer}"
    yield from (f"with {option}" for option in layout.format_options)
