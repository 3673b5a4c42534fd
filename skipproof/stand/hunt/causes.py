"""The traits of a failure, coarse enough that two failures of one cause have the same."""

import re
from collections.abc import Iterable, Iterator

from oracles.answers.contradictions import Contradiction, Discrepancy, Oracle
from strategies.engines.engine_tables import PYARROW, StoredTable
from strategies.engines.functions import ARITHMETIC, TEXT_FUNCTIONS, TIME_FUNCTIONS
from strategies.engines.questions import Call, Column, Literal, Question, Relation, Subquery, Term, subterms
from strategies.engines.worlds import World

# Functions and types of one family are pruned by the same code of an engine.
_FAMILIES = {
    "<": "ordering", "<=": "ordering", ">": "ordering", ">=": "ordering", "between": "ordering",
    "=": "equality", "in": "equality", "!=": "inequality", "is null": "null test", "is not null": "null test",
    "is not distinct from": "null-safe", "is distinct from": "null-safe", "is nan": "nan test",
    "like": "pattern", "starts with": "pattern", "cast": "cast", "try cast": "cast", "coalesce": "choice",
    "if": "choice", "nullif": "choice", **dict.fromkeys(ARITHMETIC, "arithmetic"),
    **dict.fromkeys(TEXT_FUNCTIONS, "text function"), **dict.fromkeys(TIME_FUNCTIONS, "time function"),
}  # fmt: skip
_TYPES = {
    "int": "integer", "uint": "unsigned", "float": "floating", "decimal": "decimal", "string": "text",
    "binary": "bytes", "date": "time", "timestamp": "time", "boolean": "boolean",
}  # fmt: skip

_TYPE_FAMILIES = frozenset(_TYPES.values())

AGAINST_THE_REFERENCE = "against the reference"
_ERROR, _WORDS = "error: ", 12
# The traits of data and files that can be the cause of a failure.
_ODD_TRAITS = frozenset(
    {
        "NaN",
        "NULL",
        "signed zero",
        "a bloom filter",
        "a page index",
        "partial statistics",
        "fields of a struct",
        "elements of lists",
        "columns named like fields",
    }
)


def traits(world: World, question: Question, wrong: Contradiction) -> frozenset[str]:
    """Return the traits of one failure."""
    return frozenset(_traits(world, question, wrong))


def cause(failure_traits: frozenset[str]) -> frozenset[str]:
    """Return the traits that failures of one cause have in common.

    These are the odd traits of data and files, with the types; for an error, its words. If no trait is odd,
    or if the answers of both forms are wrong, the question matters, and the cause is all traits.
    """
    if AGAINST_THE_REFERENCE in failure_traits:
        return failure_traits
    error_traits = frozenset(trait for trait in failure_traits if trait.startswith(_ERROR))
    if error_traits:
        return error_traits
    odd = frozenset(
        trait for trait in failure_traits if trait in _ODD_TRAITS or trait.startswith(("written by", "with "))
    )
    return odd | type_traits(failure_traits) if odd else failure_traits


def type_traits(failure_traits: frozenset[str]) -> frozenset[str]:
    """Return the families of types among traits."""
    return failure_traits & _TYPE_FAMILIES


def error_words(wrong: Contradiction) -> str:
    """Return the words of an error without its values and names, which vary; empty if it is no error.

    Workers cut long messages, so that a bracket may have no end.
    """
    if wrong.verdict is not Discrepancy.RAISED:
        return ""
    text, nested = wrong.difference, 1
    while nested:
        text, nested = re.subn(r"\([^()]*\)|\[[^\[\]]*\]", " ", text)
    text = re.split(r"[(\[]", text, maxsplit=1)[0]
    words = re.sub(r"\W+", " ", re.sub(r"[\"'`].*?[\"'`]|[\d.]+|/\S+", " ", text))
    return " ".join(words.split()[:_WORDS])


def type_family(type_: str) -> str:
    """Return the trait of a type."""
    return _TYPES[type_.partition("(")[0].rstrip("0123456789")]


def function_families(failure_traits: frozenset[str]) -> frozenset[str]:
    """Return the families of functions among the traits of a failure."""
    return failure_traits.intersection(_FAMILIES.values())


def function_family(term: Term) -> str:
    """Return the family of the outermost function of a condition."""
    if isinstance(term, Call):
        return _FAMILIES.get(term.function, term.function)
    if isinstance(term, Subquery):
        return "subquery"
    return "column" if isinstance(term, Column) else "literal"


def _traits(world: World, question: Question, wrong: Contradiction) -> Iterator[str]:
    """Yield the traits of one failure."""
    yield f"{question.area}: {wrong.verdict.value}"
    in_files = wrong.oracle is not Oracle.REFERENCE
    if not in_files:
        yield AGAINST_THE_REFERENCE
    if wrong.verdict is Discrepancy.RAISED:
        yield f"{_ERROR}{error_words(wrong)}"
    if question.join is not None:
        yield f"{question.join.kind} join"
        yield from (
            f"join of {shape}" for relation in question.relations for shape in _relation_traits(relation)
        )
        if question.join.null_safe:
            yield "null-safe join"
        if question.join.on is not None:
            yield "join with a condition" if question.join.equal else "join without equal keys"
    if question.second is not None:
        yield f"then {question.second.kind} join"
    if question.limit is not None or question.offset:
        yield "LIMIT" if question.limit is not None else "OFFSET alone"
    if question.group is not None:
        yield "GROUP BY"
    if question.having is not None:
        yield "HAVING"
    if question.window is not None:
        yield question.window.function
        yield from ("PARTITION BY",) if question.window.partition is not None else ()
    if question.set is not None:
        yield question.set.kind + (" all" if question.set.all else "")
    if question.repeat > 1:
        yield "asked again"
    if question.prepared:
        yield "prepared"
    for aggregate in question.aggregates:
        yield from ("DISTINCT",) if aggregate.distinct else ()
        yield from ("FILTER",) if aggregate.where is not None else ()
    for term in question.terms:
        yield from _condition_traits(term)
    for name in _deciding_columns(question):
        for table in world.tables.values():
            if name in [column.name for column in table.columns]:
                yield from _column_traits(table, name)
                yield from _statistics_traits(table, name) if in_files else ()
    for table in world.tables.values() if in_files else ():
        yield from _file_traits(table)
    for name, value in world.settings.items():
        if value:
            yield f"set {name}={value}"


def _relation_traits(relation: Relation) -> Iterator[str]:
    """Yield the traits of a relation of a join."""
    if relation.limit is not None:
        yield "a limited relation"
    if relation.distinct:
        yield "a distinct relation"


def _condition_traits(term: Term) -> Iterator[str]:
    """Yield the traits of a condition."""
    for part in subterms(term):
        if isinstance(part, Call):
            yield _FAMILIES.get(part.function, part.function)
        if isinstance(part, Subquery):
            yield f"subquery of {part.kind}"
        if isinstance(part, Literal):
            if part.value is None:
                yield "a NULL literal"
            elif part.value in ("NaN", "-NaN"):
                yield "a NaN literal"
            elif part.type.startswith("float") and str(part.value) == "-0.0":
                yield "a -0.0 literal"


def _deciding_columns(question: Question) -> Iterable[str]:
    """Return the columns that decide which rows are in the answer."""
    terms = [part for term in question.terms for part in subterms(term)]
    columns = [part.name for part in terms if isinstance(part, Column)]
    joins = [join for join in (question.join, question.second) if join is not None]
    keys = [key for join in joins for key in (join.left_key, join.right_key)]
    return dict.fromkeys([*columns, *keys])


def _column_traits(table: StoredTable, name: str) -> Iterator[str]:
    """Yield the traits of a column's type and values."""
    kind = next(column.type for column in table.columns if column.name == name)
    cells = table.cells(name)
    yield type_family(kind)
    if any(cell in ("NaN", "-NaN") for cell in cells if isinstance(cell, str)) and kind.startswith("float"):
        yield "NaN"
    if kind.startswith("float") and any(str(cell) == "-0.0" for cell in cells):
        yield "signed zero"
    if any(cell is None for cell in cells):
        yield "NULL"


def _statistics_traits(table: StoredTable, name: str) -> Iterator[str]:
    """Yield the traits of a column's statistics."""
    layout = table.layout
    if name in layout.filters:
        yield "a bloom filter"
    if layout.page_index:
        yield "a page index"
    if layout.statistics is not None or layout.files_without or layout.forgotten:
        yield "partial statistics"


def _file_traits(table: StoredTable) -> Iterator[str]:
    """Yield the traits of a table's files that do not depend on a column."""
    layout = table.layout
    if layout.partitioned:
        yield "partitioned files"
    if layout.evolution and len(table.blocks) > layout.blocks_per_file:
        yield f"columns {layout.evolution}"
    if layout.nested:
        yield "fields of a struct"
        yield from ("columns named like fields",) if layout.decoys else ()
    if layout.in_lists:
        yield "elements of lists"
    if layout.encoding:
        yield f"{layout.encoding} encoding"
    if layout.writer != PYARROW:
        yield f"written by {layout.writer}"
    yield from (f"with {option}" for option in layout.format_options)
