"""Shrinks a failure: removes the parts of its world that it does not need, until its cause is visible.

This is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE
2002) on worlds instead of texts: the parts are settings, layouts, conditions, blocks, rows and columns.
Finally types become integers, and values become the simplest of their type.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeAlias

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.simplifying import simpler_questions
from strategies.engines.engine_tables import StoredLayout, StoredTable, is_consistent
from strategies.engines.engine_values import order, values
from strategies.engines.functions import PARAMETERISED, TEXT_FUNCTIONS, TIME_FUNCTIONS
from strategies.engines.questions import (
    ROW_NUMBER,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    Subquery,
    Term,
    Window,
    subterms,
)
from strategies.engines.worlds import World

# Examines a world: returns its result if it fails in the same way as the original, else None.
Fails: TypeAlias = Callable[[World], QuestionResult | None]
_ROWS_SINGLY_MAX = 8
_PLAIN_VALUES = 3
PLAIN_TYPE = "int32"
# Functions whose operands cannot have another type.
_OF_ONE_TYPE = frozenset({"like", "starts with", "is nan", "/", *TEXT_FUNCTIONS, *TIME_FUNCTIONS})


def smaller_worlds(world: World, fails: Fails, *, tries_max: int) -> Iterator[tuple[World, QuestionResult]]:
    """Yield smaller and smaller worlds that fail in the same way, each with its result.

    Args:
        world: The failing world, with one question.
        tries_max: The maximum number of worlds to examine.
    """
    return (smaller for smaller in tried_worlds(world, fails, tries_max=tries_max) if smaller is not None)


def tried_worlds(
    world: World, fails: Fails, *, tries_max: int
) -> Iterator[tuple[World, QuestionResult] | None]:
    """Yield for each world that is examined what `smaller_worlds` does, or None if it does not fail alike.

    So a caller can pause between any two of them.
    """
    tries, changed = 0, True
    while changed:
        changed = False
        for simpler in _STEPS:
            candidates = simpler(world)
            while (candidate := next(candidates, None)) is not None:
                if not all(map(is_consistent, candidate.tables.values())):
                    continue
                if tries == tries_max:
                    return
                tries += 1
                outcome = fails(candidate)
                if outcome is None:
                    yield None
                    continue
                world, changed = candidate, True
                candidates = simpler(world)
                yield world, outcome


def simpler_worlds(world: World) -> Iterator[World]:
    """Yield the consistent worlds that one step of shrinking makes of a world."""
    for simpler in _STEPS:
        for candidate in simpler(world):
            if all(map(is_consistent, candidate.tables.values())):
                yield candidate


def _fewer_settings(world: World) -> Iterator[World]:
    """Yield worlds without settings, then with one setting less."""
    if len(world.settings) > 1:
        yield replace(world, settings={})
    for name in world.settings:
        yield replace(
            world, settings={other: value for other, value in world.settings.items() if other != name}
        )


def _plainer_layouts(world: World) -> Iterator[World]:
    """Yield worlds with a simpler layout of one table."""
    for name, table in world.tables.items():
        for layout in _simpler_layouts(table.layout):
            yield with_table(world, name, replace(table, layout=layout))


def _simpler_layouts(layout: StoredLayout) -> Iterator[StoredLayout]:
    """Yield the plain layout, then the layout with one field reset to its default."""
    plain = StoredLayout()
    if layout == plain:
        return
    yield plain
    if layout.format_options:
        yield replace(layout, format_options={})
    for name in layout.format_options:
        others = {other: value for other, value in layout.format_options.items() if other != name}
        yield replace(layout, format_options=others)
    for name in layout.nested if len(layout.nested) > 1 else ():
        yield replace(layout, nested=(name,))
    for name in layout.in_lists if len(layout.in_lists) > 1 else ():
        yield replace(layout, in_lists=(name,))
    for layout_field in fields(StoredLayout):
        # The options belong to the writer, so they are reset with it.
        if layout_field.name != "format_options" and getattr(layout, layout_field.name) != getattr(
            plain, layout_field.name
        ):
            options = {} if layout_field.name == "writer" else layout.format_options
            yield replace(
                layout, **{layout_field.name: getattr(plain, layout_field.name)}, format_options=options
            )


def _fewer_blocks(world: World) -> Iterator[World]:
    """Yield worlds with one block less."""
    for name, table in world.tables.items():
        for ordinal in range(len(table.blocks) if len(table.blocks) > 1 else 0):
            blocks = table.blocks[:ordinal] + table.blocks[ordinal + 1 :]
            yield with_table(world, name, replace(table, blocks=blocks))


def _fewer_rows(world: World) -> Iterator[World]:
    """Yield worlds with half of a block's rows, then with one row less."""
    for name, table in world.tables.items():
        for ordinal, block in enumerate(table.blocks):
            half = len(block) // 2
            halves = (block[:half], block[half:]) if half > 1 else ()
            singly = range(len(block) if len(block) <= _ROWS_SINGLY_MAX else 0)
            for fewer in (*halves, *(block[:row] + block[row + 1 :] for row in singly)):
                blocks = (*table.blocks[:ordinal], fewer, *table.blocks[ordinal + 1 :])
                yield with_table(world, name, replace(table, blocks=blocks))


def _fewer_columns(world: World) -> Iterator[World]:
    """Yield worlds without a column that the question does not name."""
    (question,) = world.questions
    named = _column_names(question)
    for name, table in world.tables.items():
        layout = table.layout
        for position, column in enumerate(table.queried_columns):
            # Options of formats name columns, and the column that files lack depends on its position.
            bound = layout.format_options or layout.evolution or (layout.partitioned and position == 0)
            if column.name in named or bound or len(table.queried_columns) == 1:
                continue
            yield with_table(world, name, _without_column(table, position))


def _without_column(table: StoredTable, position: int) -> StoredTable:
    """Return a table without one column."""
    name, layout = table.columns[position].name, table.layout
    columns_with_statistics = layout.statistics
    return replace(
        table,
        columns=table.columns[:position] + table.columns[position + 1 :],
        blocks=tuple(tuple(row[:position] + row[position + 1 :] for row in block) for block in table.blocks),
        layout=replace(
            layout,
            statistics=None
            if columns_with_statistics is None
            else tuple(column for column in columns_with_statistics if column != name),
            filters=tuple(column for column in layout.filters if column != name),
            nested=tuple(column for column in layout.nested if column != name),
            in_lists=tuple(column for column in layout.in_lists if column != name),
            # Files are sorted by the first column.
            sorting=layout.sorting if position else "",
        ),
    )


def _column_names(question: Question) -> set[str]:
    """Return every column that a question names, including selected ones."""
    terms = [part for term in question.terms for part in subterms(term)]
    named = {*question.select, *(part.name for part in terms if isinstance(part, Column))}
    named.update(relation.distinct for relation in question.relations if relation.distinct)
    for join in (question.join, question.second):
        named |= set() if join is None else {join.left_key, join.right_key}
    if question.set is not None:
        named.update(question.set.columns)
    return named | ({question.change} if question.change else set())


def _simpler_questions(world: World) -> Iterator[World]:
    """Yield worlds with a simpler question."""
    (question,) = world.questions
    for simpler in simpler_questions(question):
        named = {relation.table for relation in simpler.relations}
        tables = {name: table for name, table in world.tables.items() if name in named}
        yield replace(world, tables=tables, questions=(simpler,))


def _plainer_types(world: World) -> Iterator[World]:
    """Yield worlds with a type replaced by integers in the same order, since the type may not matter."""
    for type_ in types(world):
        if may_be_integer(world, type_):
            yield with_ranks(world, type_, lambda rank: rank, PLAIN_TYPE)


def with_ranks(world: World, type_: str, value_of_rank: Callable[[int], Json], to: str) -> World:
    """Return the world with values of type `to`, in the same order, for those of a type."""
    others: dict[str, Json] = {}
    keys: list[Any] = []
    for value in sorted(distinct_values(world, type_), key=lambda value: order(value, type_)):
        if not keys or keys[-1] != order(value, type_):
            keys.append(order(value, type_))
        others[repr(value)] = value_of_rank(len(keys) - 1)
    return with_values(world, type_, others, to)


def may_be_integer(world: World, type_: str) -> bool:
    """Tell whether integers may replace a type: no function needs the type, and it is not boolean."""
    (question,) = world.questions
    calls = [part for term in question.terms for part in subterms(term) if isinstance(part, Call)]
    bound = {operand.type for call in calls if call.function in _OF_ONE_TYPE for operand in call.of}
    return type_ not in (*bound, "boolean", PLAIN_TYPE)


def _plainer_values(world: World) -> Iterator[World]:
    """Yield worlds with a value replaced by a simpler one, or the NULLs of a column by a value."""
    for type_ in types(world):
        for old in distinct_values(world, type_):
            for new in values(type_)[:_PLAIN_VALUES]:
                if repr(new) == repr(old):
                    break
                yield with_values(world, type_, {repr(old): new}, type_)
    for name, table in world.tables.items():
        for position, column in enumerate(table.queried_columns):
            if None in table.cells(column.name):
                yield with_table(world, name, without_null(table, position, values(column.type)[0]))


def types(world: World) -> list[str]:
    """Return the types of all columns."""
    return list(
        dict.fromkeys(column.type for table in world.tables.values() for column in table.queried_columns)
    )


def distinct_values(world: World, type_: str) -> list[Json]:
    """Return the distinct values of a type in cells and literals, with both zeros and without NULL."""
    (question,) = world.questions
    literals = [part for term in question.terms for part in subterms(term) if isinstance(part, Literal)]
    type_values = [literal.value for literal in (*literals, question.to) if literal and literal.type == type_]
    for table in world.tables.values():
        for column in table.queried_columns:
            type_values += table.cells(column.name) if column.type == type_ else []
    return list({repr(value): value for value in type_values if value is not None}.values())


def with_values(world: World, type_: str, others: Mapping[str, Json], to: str) -> World:
    """Return the world with other values of type `to` for those of a type; `others` has them by `repr`."""

    def of_value(value: Json) -> Json:
        return None if value is None else others.get(repr(value), value)

    def of_term(term: Term) -> Term:
        if isinstance(term, Subquery):
            column = of_term(term.column)
            assert isinstance(column, Column)
            operand = None if term.operand is None else of_term(term.operand)
            relation = _with_terms_of_relation(term.relation, of_term)
            return replace(term, column=column, operand=operand, relation=relation)
        if isinstance(term, Literal):
            return Literal(of_value(term.value), to) if term.type == type_ else term
        if isinstance(term, Call):
            values_end = 1 if term.function in PARAMETERISED else len(term.of)
            term = replace(term, of=(*map(of_term, term.of[:values_end]), *term.of[values_end:]))
        return replace(term, type=to) if term.type == type_ and _is_no_row_number(term) else term

    def of_table(table: StoredTable) -> StoredTable:
        mine = [column.type == type_ for column in table.queried_columns]
        return replace(
            table,
            columns=(
                *(
                    replace(column, type=to) if own else column
                    for column, own in zip(table.queried_columns, mine, strict=True)
                ),
                table.columns[-1],
            ),
            blocks=tuple(
                tuple(
                    (
                        *(of_value(cell) if own else cell for cell, own in zip(row, mine, strict=False)),
                        row[-1],
                    )
                    for row in block
                )
                for block in table.blocks
            ),
        )

    (question,) = world.questions
    return replace(
        world,
        tables={name: of_table(table) for name, table in world.tables.items()},
        questions=(with_terms(question, of_term),),
    )


def _is_no_row_number(term: Term) -> bool:
    """Tell whether a term is no row number, whose type must stay."""
    return not isinstance(term, Column) or not term.name.endswith(ROW_NUMBER)


def with_terms(question: Question, of_term: Callable[[Term], Term]) -> Question:
    """Return the question with `of_term` applied to every term, including those of its relations."""

    def of_keys(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        return _keys_with_terms(keys, of_term)

    def of_where(where: Term | None) -> Term | None:
        return None if where is None else of_term(where)

    def of_relation(relation: Relation) -> Relation:
        return _with_terms_of_relation(relation, of_term)

    def of_window(window: Window) -> Window:
        return replace(window, partition=of_where(window.partition), order=of_keys(window.order))

    def of_join(join: Join | None) -> Join | None:
        return None if join is None else replace(join, right=of_relation(join.right))

    to = None if question.to is None else of_term(question.to)
    assert to is None or isinstance(to, Literal)
    return replace(
        question,
        source=of_relation(question.source),
        join=of_join(question.join),
        second=of_join(question.second),
        where=of_where(question.where),
        aggregates=tuple(
            replace(aggregate, of=of_where(aggregate.of), where=of_where(aggregate.where))
            for aggregate in question.aggregates
        ),
        group=of_where(question.group),
        having=of_where(question.having),
        order=of_keys(question.order),
        window=None if question.window is None else of_window(question.window),
        set=None if question.set is None else replace(question.set, right=of_relation(question.set.right)),
        to=to,
    )


def _with_terms_of_relation(relation: Relation, of_term: Callable[[Term], Term]) -> Relation:
    """Return the relation with `of_term` applied to every term."""
    where = None if relation.where is None else of_term(relation.where)
    return replace(relation, where=where, order=_keys_with_terms(relation.order, of_term))


def _keys_with_terms(keys: tuple[Key, ...], of_term: Callable[[Term], Term]) -> tuple[Key, ...]:
    """Return keys with `of_term` applied to what they order by."""
    return tuple(replace(key, by=of_term(key.by)) for key in keys)


def without_null(table: StoredTable, position: int, value: Json) -> StoredTable:
    """Return a table with the NULLs of a column replaced by a value."""
    blocks = tuple(
        tuple(
            (*row[:position], value if row[position] is None else row[position], *row[position + 1 :])
            for row in block
        )
        for block in table.blocks
    )
    return replace(table, blocks=blocks)


def with_table(world: World, name: str, table: StoredTable) -> World:
    """Return a world with one table replaced."""
    return replace(world, tables={**world.tables, name: table})


# The steps that remove most come first.
_STEPS = (
    _fewer_settings, _plainer_layouts, _simpler_questions, _fewer_blocks, _fewer_columns, _fewer_rows,
    _plainer_types, _plainer_values,
)  # fmt: skip
