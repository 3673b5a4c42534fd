"""Simpler questions, one part at a time, for the shrinking of failures."""

from collections.abc import Iterator
from dataclasses import replace

from strategies.engines.joins import THIRD_PREFIX
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Question,
    Relation,
    Subquery,
    Term,
    Window,
    subterms,
)

# Functions of two arguments or more, with the ordinal of the first argument that can be removed.
_VARIADIC = {"and": 0, "or": 0, "in": 1, "coalesce": 1}
_HALVED_FROM = 8


def simpler_questions(question: Question) -> Iterator[Question]:
    """Yield questions with one part less."""
    for source in _simpler_relation(question.source):
        # The language of questions has no change without a condition.
        if question.change is None or source.where is not None:
            yield replace(question, source=source)
    if question.second is not None:
        yield _without_second(question)
        for right in _simpler_relation(question.second.right):
            yield replace(question, second=replace(question.second, right=right))
    if question.join is not None:
        for right in _simpler_relation(question.join.right):
            yield replace(question, join=replace(question.join, right=right))
        yield from (replace(question, join=join) for join in _simpler_joins(question.join))
        if question.limit is not None:
            yield replace(question, limit=None, order=())
    if question.window is not None:
        yield from (replace(question, window=window) for window in _simpler_windows(question.window))
    if question.set is not None:
        for right in _simpler_relation(question.set.right):
            yield replace(question, set=replace(question.set, right=right))
        if question.order:
            yield replace(question, order=(), limit=None, offset=0)
    if question.repeat > 1:
        yield replace(question, repeat=1)
    if question.prepared:
        yield replace(question, prepared=False)
    for where in _simpler_condition(question.where):
        yield replace(question, where=where)
    if question.offset and question.limit is not None:
        yield replace(question, offset=0)
    yield from _simpler_order(question)
    if question.aggregates:
        yield from _simpler_aggregation(question)


def _without_second(question: Question) -> Question:
    """Return a question without its second join and the columns of that."""
    select = tuple(name for name in question.select if not name.startswith(THIRD_PREFIX))
    order = tuple(key for key in question.order if not isinstance(key.by, Column) or key.by.name in select)
    return replace(question, second=None, select=select, order=order)


def _simpler_joins(join: Join) -> Iterator[Join]:
    """Yield joins by one condition less, or by a simpler one."""
    if join.null_safe:
        yield replace(join, null_safe=False)
    if join.on is not None:
        yield replace(join, on=None, equal=True)
        for on in _simpler_terms(join.on):
            yield replace(join, on=on)


def _simpler_windows(window: Window) -> Iterator[Window | None]:
    """Yield no window, then windows with one part less; the last key may make the order total."""
    yield None
    if window.partition is not None:
        yield replace(window, partition=None)
        yield from (replace(window, partition=term) for term in _simpler_expressions(window.partition))
    keys = window.order
    for at in range(len(keys) - 1):
        yield replace(window, order=keys[:at] + keys[at + 1 :])
    for at, key in enumerate(keys):
        for by in _simpler_expressions(key.by):
            yield replace(window, order=(*keys[:at], replace(key, by=by), *keys[at + 1 :]))


def _simpler_order(question: Question) -> Iterator[Question]:
    """Yield questions with one key less, or with a simpler key; the last key may make the order total."""
    keys = question.order
    for at in range(len(keys) - 1):
        yield replace(question, order=keys[:at] + keys[at + 1 :])
    for at, key in enumerate(keys):
        for by in _simpler_expressions(key.by):
            if not isinstance(by, Column) or by.name in question.answer_columns:
                yield replace(question, order=(*keys[:at], replace(key, by=by), *keys[at + 1 :]))


def _simpler_aggregation(question: Question) -> Iterator[Question]:
    """Yield questions with fewer or simpler groups and aggregates; those that others name must stay."""
    if question.having is not None:
        yield replace(question, having=None)
        for having in _simpler_condition(question.having):
            yield replace(question, having=having)
    if question.order:
        yield replace(question, order=(), limit=None, offset=0)
    if question.group is not None:
        if question.having is None and not question.order:
            yield replace(question, group=None)
        for group in _simpler_expressions(question.group):
            yield replace(question, group=group)
    aggregates = question.aggregates
    for at, aggregate in enumerate(aggregates):
        if len(aggregates) > 1 and question.having is None and not question.order:
            yield replace(question, aggregates=aggregates[:at] + aggregates[at + 1 :])
        for simpler in _simpler_aggregate(aggregate):
            yield replace(question, aggregates=(*aggregates[:at], simpler, *aggregates[at + 1 :]))


def _simpler_aggregate(aggregate: Aggregate) -> Iterator[Aggregate]:
    """Yield aggregates with one part less."""
    if aggregate.distinct:
        yield replace(aggregate, distinct=False)
    if aggregate.where is not None:
        yield replace(aggregate, where=None)
        yield from (replace(aggregate, where=where) for where in _simpler_terms(aggregate.where))
    if aggregate.of is not None:
        yield from (replace(aggregate, of=of) for of in _simpler_expressions(aggregate.of))


def _simpler_expressions(term: Term) -> Iterator[Term]:
    """Yield simpler expressions that name a column; SQL takes a number alone for a position."""
    for simpler in _simpler_terms(term):
        if any(isinstance(part, Column) for part in subterms(simpler)):
            yield simpler


def _simpler_relation(relation: Relation) -> Iterator[Relation]:
    """Yield relations with one part less."""
    if relation.limit is not None:
        yield replace(relation, limit=None, offset=0, order=())
    if relation.distinct is not None:
        yield replace(relation, distinct=None)
    for where in _simpler_condition(relation.where):
        yield replace(relation, where=where)


def _simpler_condition(where: Term | None) -> Iterator[Term | None]:
    """Yield no condition, then conditions with one part less."""
    if where is not None:
        yield None
        yield from _simpler_terms(where)


def _simpler_terms(term: Term) -> Iterator[Term]:
    """Yield terms with one part less: an operand instead of its call, or one argument less."""
    if isinstance(term, Subquery):
        yield from (replace(term, relation=relation) for relation in _simpler_relation(term.relation))
        if term.operand is not None:
            yield from (replace(term, operand=of) for of in _simpler_expressions(term.operand))
    if not isinstance(term, Call):
        return
    yield from (part for part in term.of if part.type == term.type)
    if len(term.of) > 2 and term.function in _VARIADIC:
        first = _VARIADIC[term.function]
        if len(term.of) > _HALVED_FROM:
            half = (first + len(term.of)) // 2
            yield replace(term, of=term.of[:half])
            yield replace(term, of=term.of[:first] + term.of[half:])
        for at in range(first, len(term.of)):
            yield replace(term, of=term.of[:at] + term.of[at + 1 :])
    for at, part in enumerate(term.of):
        for simpler in _simpler_terms(part):
            yield replace(term, of=(*term.of[:at], simpler, *term.of[at + 1 :]))
