"""Shrinks a failure: what it does not need is left out, part by part; what is left tells its cause.

This is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE
2002) on worlds instead of texts: the parts are settings, layouts, conditions, blocks, rows and columns. At
last types become integers, and values the plainest of their type.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeAlias

from skipproof.stand.hunt.examining import Outcome
from strategies.engines.engine_questions import World
from strategies.engines.engine_tables import Layout, Stored, is_consistent
from strategies.engines.engine_values import order, values
from strategies.engines.questions import (
    ROW_NUMBER,
    Call,
    Column,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    Term,
    subterms,
)

# Asks again: the outcome of a world that fails in the same way, None of one that does not.
Fails: TypeAlias = Callable[[World], Outcome | None]
# Functions of two arguments or more, with the ordinal of the first that can be left out.
_VARIADIC = {"and": 0, "or": 0, "in": 1, "coalesce": 1}
_ROWS_SINGLY_MAX = 8
_PLAIN_VALUES = 3
_PLAIN_TYPE = "int32"
# Functions whose operands have the types that they have.
_OF_ONE_TYPE = frozenset({"like", "starts with", "is nan"})


def smaller(world: World, fails: Fails, *, tries_max: int) -> Iterator[tuple[World, Outcome]]:
    """Ever smaller worlds that fail in the same way, until nothing can be left out, with what came of each.

    Args:
        world: With one question.
        tries_max: How many worlds are asked at most.
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
                found = fails(candidate)
                if found is not None:
                    world, changed = candidate, True
                    candidates = simpler(world)
                    yield world, found


def _fewer_settings(world: World) -> Iterator[World]:
    if len(world.settings) > 1:
        yield replace(world, settings={})
    for name in world.settings:
        yield replace(
            world, settings={other: value for other, value in world.settings.items() if other != name}
        )


def _plainer_layouts(world: World) -> Iterator[World]:
    for name, table in world.tables.items():
        for layout in _plainer(table.layout):
            yield _with_table(world, name, replace(table, layout=layout))


def _plainer(layout: Layout) -> Iterator[Layout]:
    """The plain layout, and those with one thing more as it is there."""
    plain = Layout()
    if layout == plain:
        return
    yield plain
    if layout.format_options:
        yield replace(layout, format_options={})
    for name in layout.format_options:
        others = {other: value for other, value in layout.format_options.items() if other != name}
        yield replace(layout, format_options=others)
    for one in fields(Layout):
        # Options are the writer's.
        if one.name != "format_options" and getattr(layout, one.name) != getattr(plain, one.name):
            options = {} if one.name == "writer" else layout.format_options
            yield replace(layout, **{one.name: getattr(plain, one.name)}, format_options=options)


def _fewer_blocks(world: World) -> Iterator[World]:
    for name, table in world.tables.items():
        for ordinal in range(len(table.blocks) if len(table.blocks) > 1 else 0):
            blocks = table.blocks[:ordinal] + table.blocks[ordinal + 1 :]
            yield _with_table(world, name, replace(table, blocks=blocks))


def _fewer_rows(world: World) -> Iterator[World]:
    for name, table in world.tables.items():
        for ordinal, block in enumerate(table.blocks):
            half = len(block) // 2
            halves = (block[:half], block[half:]) if half > 1 else ()
            singly = range(len(block) if len(block) <= _ROWS_SINGLY_MAX else 0)
            for fewer in (*halves, *(block[:row] + block[row + 1 :] for row in singly)):
                blocks = (*table.blocks[:ordinal], fewer, *table.blocks[ordinal + 1 :])
                yield _with_table(world, name, replace(table, blocks=blocks))


def _fewer_columns(world: World) -> Iterator[World]:
    (question,) = world.questions
    named = _names(question)
    for name, table in world.tables.items():
        layout = table.layout
        for position, column in enumerate(table.asked):
            # The options of formats name columns, and which column files lack goes by its place.
            bound = layout.format_options or layout.evolution or (layout.partitioned and position == 0)
            if column.name in named or bound or len(table.asked) == 1:
                continue
            yield _with_table(world, name, _without_column(table, position))


def _without_column(table: Stored, position: int) -> Stored:
    name, layout = table.columns[position].name, table.layout
    known = layout.statistics
    return replace(
        table,
        columns=table.columns[:position] + table.columns[position + 1 :],
        blocks=tuple(tuple(row[:position] + row[position + 1 :] for row in block) for block in table.blocks),
        layout=replace(
            layout,
            statistics=None if known is None else tuple(one for one in known if one != name),
            filters=tuple(one for one in layout.filters if one != name),
            # It is of the first column.
            sorting=layout.sorting if position else "",
        ),
    )


def _names(question: Question) -> set[str]:
    """Every column that a question names, shown ones too."""
    terms = [part for term in question.terms for part in subterms(term)]
    named = {*question.select, *(part.name for part in terms if isinstance(part, Column))}
    named.update(aggregate.of for aggregate in question.aggregates if aggregate.of)
    named.update(relation.distinct for relation in question.relations if relation.distinct)
    if question.join is not None:
        named |= {question.join.left_key, question.join.right_key}
    return named | {name for name in (question.group, question.change) if name}


def _simpler_questions(world: World) -> Iterator[World]:
    (question,) = world.questions
    for simpler in _simpler_question(question):
        yield replace(world, questions=(simpler,))


def _simpler_question(question: Question) -> Iterator[Question]:
    for source in _simpler_relation(question.source):
        # A change without a condition is not in the language.
        if question.change is None or source.where is not None:
            yield replace(question, source=source)
    if question.join is not None:
        for right in _simpler_relation(question.join.right):
            yield replace(question, join=replace(question.join, right=right))
        if question.join.null_safe:
            yield replace(question, join=replace(question.join, null_safe=False))
        if question.limit is not None:
            yield replace(question, limit=None, order=())
    for where in _simpler_condition(question.where):
        yield replace(question, where=where)
    if question.offset and question.limit is not None:
        yield replace(question, offset=0)
    if question.group is not None:
        yield replace(question, group=None)
    for ordinal in range(len(question.aggregates) if len(question.aggregates) > 1 else 0):
        fewer = question.aggregates[:ordinal] + question.aggregates[ordinal + 1 :]
        yield replace(question, aggregates=fewer)


def _simpler_relation(relation: Relation) -> Iterator[Relation]:
    if relation.limit is not None:
        yield replace(relation, limit=None, offset=0, order=())
    if relation.distinct is not None:
        yield replace(relation, distinct=None)
    for where in _simpler_condition(relation.where):
        yield replace(relation, where=where)


def _simpler_condition(where: Term | None) -> Iterator[Term | None]:
    if where is not None:
        yield None
        yield from _simpler_terms(where)


def _simpler_terms(term: Term) -> Iterator[Term]:
    """The term without one of its parts: a part in its place, or one argument less; the outermost first."""
    if not isinstance(term, Call):
        return
    yield from (part for part in term.of if part.type == term.type)
    if len(term.of) > 2 and term.function in _VARIADIC:
        for at in range(_VARIADIC[term.function], len(term.of)):
            yield replace(term, of=term.of[:at] + term.of[at + 1 :])
    for at, part in enumerate(term.of):
        for simpler in _simpler_terms(part):
            yield replace(term, of=(*term.of[:at], simpler, *term.of[at + 1 :]))


def _plainer_types(world: World) -> Iterator[World]:
    """Each type replaced everywhere by integers in the same order: the failure may not be of the type."""
    for type_ in _types(world):
        if _is_free(world, type_):
            ranks: dict[str, int] = {}
            keys: list[Any] = []
            for value in sorted(_values_of(world, type_), key=lambda value: order(value, type_)):
                if not keys or keys[-1] != order(value, type_):
                    keys.append(order(value, type_))
                ranks[repr(value)] = len(keys) - 1
            yield _with_values(world, type_, ranks, _PLAIN_TYPE)


def _is_free(world: World, type_: str) -> bool:
    """Whether integers may stand for a type: no function asks for it, and it is no condition itself."""
    (question,) = world.questions
    calls = [part for term in question.terms for part in subterms(term) if isinstance(part, Call)]
    bound = {operand.type for call in calls if call.function in _OF_ONE_TYPE for operand in call.of}
    return type_ not in (*bound, "boolean", _PLAIN_TYPE)


def _plainer_values(world: World) -> Iterator[World]:
    """Each value of a type replaced everywhere by a plainer one, and the NULLs of a column by a value."""
    for type_ in _types(world):
        for old in _values_of(world, type_):
            for new in values(type_)[:_PLAIN_VALUES]:
                if repr(new) == repr(old):
                    break
                yield _with_values(world, type_, {repr(old): new}, type_)
    for name, table in world.tables.items():
        for position, column in enumerate(table.asked):
            if None in table.cells(column.name):
                yield _with_table(world, name, _without_null(table, position, values(column.type)[0]))


def _types(world: World) -> list[str]:
    return list(dict.fromkeys(column.type for table in world.tables.values() for column in table.asked))


def _values_of(world: World, type_: str) -> list[Json]:
    """The different values of a type in cells and literals, of zeros both; without NULL."""
    (question,) = world.questions
    literals = [part for term in question.terms for part in subterms(term) if isinstance(part, Literal)]
    found = [literal.value for literal in (*literals, question.to) if literal and literal.type == type_]
    for table in world.tables.values():
        for column in table.asked:
            found += table.cells(column.name) if column.type == type_ else []
    return list({repr(value): value for value in found if value is not None}.values())


def _with_values(world: World, type_: str, others: Mapping[str, Json], to: str) -> World:
    """The world with other values, by the text of each, for those of a type; they are of type `to`."""

    def of_value(value: Json) -> Json:
        return None if value is None else others.get(repr(value), value)

    def of_term(term: Term) -> Term:
        if isinstance(term, Literal):
            return Literal(of_value(term.value), to) if term.type == type_ else term
        if isinstance(term, Call):
            term = replace(term, of=tuple(map(of_term, term.of)))
        return replace(term, type=to) if term.type == type_ and _is_asked(term) else term

    def of_table(table: Stored) -> Stored:
        mine = [column.type == type_ for column in table.asked]
        return replace(
            table,
            columns=(
                *(
                    replace(column, type=to) if own else column
                    for column, own in zip(table.asked, mine, strict=True)
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
        questions=(_with_terms(question, of_term),),
    )


def _is_asked(term: Term) -> bool:
    """Whether a term is not a row number, whose type stays."""
    return not isinstance(term, Column) or not term.name.endswith(ROW_NUMBER)


def _with_terms(question: Question, of_term: Callable[[Term], Term]) -> Question:
    """The question with every term replaced, those inside of its relations too."""

    def of_keys(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        return tuple(replace(key, by=of_term(key.by)) for key in keys)

    def of_where(where: Term | None) -> Term | None:
        return None if where is None else of_term(where)

    def of_relation(relation: Relation) -> Relation:
        return replace(relation, where=of_where(relation.where), order=of_keys(relation.order))

    join, to = question.join, None if question.to is None else of_term(question.to)
    assert to is None or isinstance(to, Literal)
    return replace(
        question,
        source=of_relation(question.source),
        join=None if join is None else replace(join, right=of_relation(join.right)),
        where=of_where(question.where),
        order=of_keys(question.order),
        to=to,
    )


def _without_null(table: Stored, position: int, value: Json) -> Stored:
    blocks = tuple(
        tuple(
            (*row[:position], value if row[position] is None else row[position], *row[position + 1 :])
            for row in block
        )
        for block in table.blocks
    )
    return replace(table, blocks=blocks)


def _with_table(world: World, name: str, table: Stored) -> World:
    return replace(world, tables={**world.tables, name: table})


# What is left out first takes most with it.
_STEPS = (
    _fewer_settings, _plainer_layouts, _simpler_questions, _fewer_blocks, _fewer_columns, _fewer_rows,
    _plainer_types, _plainer_values,
)  # fmt: skip
