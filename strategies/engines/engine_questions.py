"""Draw the questions of each class about the tables of a world; `conditions` draws their conditions."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import ConditionScope, Operand
from strategies.engines.conditions import comparison, condition
from strategies.engines.engine_rows import ValuePool
from strategies.engines.engine_values import INTEGERS
from strategies.engines.joins import (
    LEFT,
    RIGHT,
    RIGHT_PREFIX,
    column_of,
    join_question,
    key,
    relation,
    scope_of,
)
from strategies.engines.questions import (
    ROW_NUMBER,
    Aggregate,
    Call,
    Column,
    Key,
    Literal,
    Question,
    Relation,
    Subquery,
    Term,
)
from strategies.engines.terms import column, operand
from strategies.engines.windows import set_operation, window

_ONE_IN_FOUR: st.SearchStrategy[bool] = st.sampled_from((False, False, False, True))
_TWO_IN_THREE: st.SearchStrategy[bool] = st.sampled_from((False, True, True))
# No table has more rows. Sums of integers of this size fit 32 bits, in which some engines add.
_ROWS_MAX, _SUMMED_MAX = 20_000, 100_000
_COUNTS = ValuePool("int64", (0, 1, 2, 3, _ROWS_MAX))
# The areas whose questions are about LIMIT and OFFSET.
LIMITED = ("limit", "topk")
_OTHER_LIMITS = 3

_Ask: TypeAlias = Callable[[DrawFn, ConditionScope], Question]


def _filter(draw: DrawFn, scope: ConditionScope) -> Question:
    where = None if draw(st.integers(0, 15)) == 15 else condition(draw, scope)
    return Question(area="filter", source=Relation(table=LEFT, where=where), select=_select(draw, scope))


def _limit(draw: DrawFn, scope: ConditionScope) -> Question:
    inner = draw(
        st.sampled_from((*(None,) * 4, 0, 1, 3) if scope.has_functions("limited relation") else (None,))
    )
    source = Relation(
        table=LEFT,
        where=_condition_of_limited(draw, scope),
        # The order is total, so that the rows of an inner LIMIT are determined.
        order=() if inner is None else (Key(Column(ROW_NUMBER, "int64"), descending=draw(st.booleans())),),
        limit=inner,
    )
    limit, offset = _limits(draw, scope)
    return Question(area="limit", source=source, select=_select(draw, scope), limit=limit, offset=offset)


def _top_k(draw: DrawFn, scope: ConditionScope) -> Question:
    """Draw an order by one to three keys, columns or expressions."""
    computes = scope.has_functions("order by expression")
    names = draw(st.lists(st.sampled_from(sorted(scope.pools)), min_size=1, max_size=2, unique=True))
    by: list[Term] = [Column(name, scope.pools[name].type) for name in names]
    if computes and draw(_TWO_IN_THREE if scope.is_large else st.booleans()):
        by[0] = operand(draw, scope, often=True).term
        if draw(_ONE_IN_FOUR):
            by.insert(0, operand(draw, scope, often=True).term)
    keys = [key(draw, term) for term in by]
    # Rows with equal keys may come in any order, which the answer shows only if it has the keys.
    if not all(isinstance(term, Column) for term in by) or draw(st.booleans()):
        keys.append(key(draw, Column(ROW_NUMBER, "int64")))
    limit, offset = _limits(draw, scope, keys[0])
    return Question(
        area="topk",
        source=Relation(table=LEFT, where=_condition_of_limited(draw, scope)),
        select=(
            *dict.fromkeys([*names, *(term.name for term in by if isinstance(term, Column))]),
            ROW_NUMBER,
        ),
        order=tuple(keys),
        limit=limit,
        offset=offset,
    )


def _aggregate(draw: DrawFn, scope: ConditionScope) -> Question:
    if draw(_ONE_IN_FOUR):
        return _aggregate_of_columns(draw, scope)
    grouped = scope.has_functions("group by") and draw(st.integers(0, 2)) == 2
    count = choose(draw, (1, 2, 2, 3))
    # DataFusion refuses two columns of the same expression.
    aggregates = dict(_one_aggregate(draw, scope) for _ in range(count))
    pools = {
        f"aggregate {at}": _aggregate_pool(aggregate, pool)
        for at, (aggregate, pool) in enumerate(aggregates.items())
    }
    group = _aggregate_operand(draw, scope) if grouped else None
    outputs = ConditionScope(scope.capabilities, {**pools, **({"group": group.pool} if group else {})})
    having = scope.has_functions("having") and draw(_ONE_IN_FOUR)
    ordered = group is not None and scope.has_functions("order by aggregate") and draw(st.booleans())
    return Question(
        area="aggregate",
        source=Relation(table=LEFT, where=_maybe_condition(draw, scope)),
        aggregates=tuple(aggregates),
        group=group.term if group else None,
        having=condition(draw, outputs, 1) if having else None,
        order=(key(draw, column(outputs, choose(draw, sorted(outputs.pools))).term),) if ordered else (),
        limit=choose(draw, (1, 2, 3)) if ordered else None,
    )


def _aggregate_of_columns(draw: DrawFn, scope: ConditionScope) -> Question:
    """Draw what engines take from the statistics of files alone: extremes and counts of columns."""
    functions = [name for name in ("min", "max", "count") if scope.has_functions(name)]
    columns = [column(scope, name).term for name in sorted(scope.pools)]
    aggregates = [Aggregate("count")]
    if functions:
        count = choose(draw, (1, 1, 2, 3))
        aggregates = [Aggregate(choose(draw, functions), choose(draw, columns)) for _ in range(count)]
    if draw(_ONE_IN_FOUR):
        aggregates.append(Aggregate("count"))
    return Question(
        area="aggregate",
        source=Relation(table=LEFT, where=condition(draw, scope, 0) if draw(_ONE_IN_FOUR) else None),
        aggregates=tuple(dict.fromkeys(aggregates)),
    )


def _aggregate_operand(draw: DrawFn, scope: ConditionScope) -> Operand:
    """Draw a column, or half of the time an expression, to group by or to aggregate."""
    example = operand(draw, scope, often=draw(st.booleans()) and scope.has_functions("aggregate expression"))
    plain = isinstance(example.term, Column) or scope.has_functions("aggregate expression")
    return example if plain else column(scope, choose(draw, sorted(scope.pools)))


def _one_aggregate(draw: DrawFn, scope: ConditionScope) -> tuple[Aggregate, ValuePool]:
    """Draw an aggregate, with the pool of the values that it aggregates."""
    functions = [name for name in ("count", "min", "max", "sum") if scope.has_functions(name)]
    function = choose(draw, ("count of rows", *functions, *functions))
    filtered = scope.has_functions("filtered aggregate") and draw(_ONE_IN_FOUR)
    where = condition(draw, scope, 1) if filtered else None
    if function == "count of rows":
        return Aggregate("count", where=where), _COUNTS
    of = _aggregate_operand(draw, scope)
    small = of.pool.type in INTEGERS and all(abs(value) <= _SUMMED_MAX for value in of.pool.values)
    if function == "sum" and not small:
        function = "count"
    if function == "count" and not scope.has_functions("count"):
        return Aggregate("count", where=where), _COUNTS
    distinct = (
        function in ("count", "sum") and scope.has_functions("distinct aggregate") and draw(_ONE_IN_FOUR)
    )
    return Aggregate(function, of.term, distinct=distinct, where=where), of.pool


def _aggregate_pool(aggregate: Aggregate, pool: ValuePool) -> ValuePool:
    """Return values that an aggregate may have, including the greatest."""
    if aggregate.function == "count":
        return _COUNTS
    if aggregate.function == "sum":
        return ValuePool("int64", (*pool.values, *(value * _ROWS_MAX for value in pool.values)))
    return pool


def _window(draw: DrawFn, scope: ConditionScope) -> Question:
    drawn_window = window(draw, scope)
    limit, offset = _limits(draw, scope) if draw(_ONE_IN_FOUR) else (None, 0)
    return Question(
        area="window",
        source=Relation(table=LEFT, where=_maybe_condition(draw, scope)),
        select=_select(draw, scope),
        window=drawn_window,
        limit=limit,
        offset=offset,
    )


def _set(draw: DrawFn, scope: ConditionScope) -> Question:
    names = sorted(scope.pools)
    select = choose(draw, (names[:1], names, (names[-1], ROW_NUMBER)))
    right_scope = scope_of(RIGHT_PREFIX, scope)
    right = relation(draw, right_scope, RIGHT, RIGHT_PREFIX + names[0], RIGHT_PREFIX + ROW_NUMBER)
    source = relation(draw, scope, LEFT, names[0], ROW_NUMBER)
    # What is distinct by a column has no other.
    if right.distinct or source.distinct:
        select = names[:1]
    limited = draw(_ONE_IN_FOUR)
    order = tuple(key(draw, column_of(name, scope)) for name in select) if draw(st.booleans()) else ()
    return Question(
        area="set",
        source=source,
        select=tuple(select),
        set=set_operation(draw, scope, right, [RIGHT_PREFIX + name for name in select]),
        order=order,
        limit=choose(draw, (1, 2, 5)) if limited else None,
    )


def _subquery(draw: DrawFn, scope: ConditionScope) -> Question:
    """Draw a test of a subquery, alone or under one NOT, AND or OR.

    Some engines take IN for false where it is NULL, which shows where a test is about its result.
    """
    tested = operand(draw, scope)
    alike = [name for name in sorted(scope.pools) if scope.pools[name].type == tested.pool.type]
    if not alike:
        tested = column(scope, choose(draw, sorted(scope.pools)))
        alike = [name for name in sorted(scope.pools) if scope.pools[name].type == tested.pool.type]
    name = RIGHT_PREFIX + choose(draw, alike)
    inner = relation(draw, scope_of(RIGHT_PREFIX, scope), RIGHT, name, RIGHT_PREFIX + ROW_NUMBER)
    value = Column(name, tested.pool.type)
    counts = ("count", "count") if tested.pool.type in INTEGERS else ()
    kind = choose(draw, ("in", "in", "in", "exists", "exists", "min", "max", *counts))
    if kind in ("in", "exists"):
        where: Term = Subquery(kind=kind, relation=inner, column=value, operand=tested.term)
    else:
        where = comparison(draw, scope, tested.term, Subquery(kind=kind, relation=inner, column=value))
    shape = choose(draw, ("alone", "alone", "not", "and", "or"))
    if shape != "alone" and scope.has_functions(shape):
        others = () if shape == "not" else (condition(draw, scope, 1),)
        where = Call(shape, (where, *others))
    limit, offset = _limits(draw, scope) if draw(_ONE_IN_FOUR) else (None, 0)
    source = Relation(table=LEFT, where=where)
    return Question(area="subquery", source=source, select=_select(draw, scope), limit=limit, offset=offset)


def _change(draw: DrawFn, scope: ConditionScope) -> Question:
    name = choose(draw, sorted(scope.pools))
    pool = scope.pools[name]
    updates = scope.has_functions("update") and draw(st.booleans())
    return Question(
        area="dml",
        source=Relation(table=LEFT, where=condition(draw, scope)),
        select=(*sorted(scope.pools), ROW_NUMBER),
        change=name if updates else "delete",
        to=Literal(choose(draw, pool.values), pool.type) if updates else None,
    )


ASKS: dict[str, _Ask] = {
    "filter": _filter,
    "limit": _limit,
    "topk": _top_k,
    "join": join_question,
    "aggregate": _aggregate,
    "window": _window,
    "set": _set,
    "subquery": _subquery,
    "dml": _change,
}


def with_other_limits(draw: DrawFn, scope: ConditionScope, question: Question) -> list[Question]:
    """Return a question about LIMIT, and some that differ from it in LIMIT and OFFSET alone.

    The answer without LIMIT is the same for all of them, and takes most of the time where it is large.
    """
    if question.area not in LIMITED:
        return [question]
    limits = [_limits(draw, scope, next(iter(question.order), None)) for _ in range(_OTHER_LIMITS)]
    others = [replace(question, limit=limit, offset=offset) for limit, offset in limits]
    return list(dict.fromkeys([question, *others]))


def _select(draw: DrawFn, scope: ConditionScope) -> tuple[str, ...]:
    """Draw all columns, or the row number alone, or one column beside it."""
    names = sorted(scope.pools)
    selected = choose(draw, (names, [], names[-1:]))
    return (*selected, ROW_NUMBER)


def _limits(draw: DrawFn, scope: ConditionScope, first: Key | None = None) -> tuple[int | None, int]:
    """Draw LIMIT and OFFSET, mostly small; an OFFSET may stand alone.

    Either may reach beyond the end, or to a boundary and one row less or more: the end of a block, or where
    the order goes from values to NULL or back.

    Args:
        first: The first key of the order, or None if there is no order.
    """
    ends = [*scope.block_ends, *_boundary_of_null(scope, first) * len(scope.block_ends)]
    end = choose(draw, ends) + choose(draw, (0, -1, 1)) if ends else 3
    # Some engines skip row groups only for a LIMIT of many rows, or an OFFSET beyond all rows of a group; but
    # none by an expression, of which groups have no bounds.
    of_large = (8, 15) if first is None or isinstance(first.by, Column) else (3, 5)
    many, far = of_large if scope.is_large else (8, 3)
    limit = choose(draw, (*(1, 2, 3, 5) * 4, 0, *(end,) * many, _ROWS_MAX, None))
    offset = choose(draw, (*(0,) * 10, 1, 1, *(end,) * far, _ROWS_MAX))
    return limit, offset if limit is not None else offset or 2


def _boundary_of_null(scope: ConditionScope, first: Key | None) -> list[int]:
    """Return the number of rows before an order by a column goes from values to NULL or back, if it does."""
    if first is None or not isinstance(first.by, Column) or not scope.block_ends:
        return []
    value_count, row_count = scope.value_counts.get(first.by.name, 0), scope.block_ends[-1]
    if not 0 < value_count < row_count:
        return []
    return [row_count - value_count if first.nulls_first else value_count]


def _maybe_condition(draw: DrawFn, scope: ConditionScope) -> Term | None:
    """Draw no condition one time in four."""
    return None if draw(_ONE_IN_FOUR) else condition(draw, scope)


def _condition_of_limited(draw: DrawFn, scope: ConditionScope) -> Term | None:
    """Draw no condition one time in four; of large tables three, as LIMIT counts whole row groups then.

    Half of the conditions are negated: most are true for few rows, all of which a LIMIT takes.
    """
    has_none = draw(_ONE_IN_FOUR) != scope.is_large
    if has_none:
        return None
    where = condition(draw, scope)
    return Call("not", (where,)) if scope.has_functions("not") and draw(st.booleans()) else where
