"""Draw joins of two tables or three, and the relations that questions read."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import ConditionScope
from strategies.engines.conditions import comparison, condition
from strategies.engines.questions import ROW_NUMBER, Call, Column, Join, Key, Question, Relation, Term

LEFT, RIGHT, RIGHT_PREFIX = "t", "u", "u_"
THIRD, THIRD_PREFIX = "v", "v_"
JOINS = ("inner", "left", "right", "full", "semi", "anti", "not in")
_ONE_SIDED = ("semi", "anti", "not in")


def join_question(draw: DrawFn, scope: ConditionScope) -> Question:
    kind = choose(draw, [kind for kind in JOINS if kind not in scope.capabilities.joins_missing])
    left_key = choose(draw, sorted(scope.pools))
    alike = [name for name, pool in scope.pools.items() if pool.type == scope.pools[left_key].type]
    right_key = RIGHT_PREFIX + choose(draw, alike)
    right_scope = scope_of(RIGHT_PREFIX, scope)
    may_be_null_safe = kind != "not in" and scope.has_functions("null safe join")
    join = Join(
        kind=kind,
        right=relation(draw, right_scope, RIGHT, right_key, RIGHT_PREFIX + ROW_NUMBER),
        left_key=left_key,
        right_key=right_key,
        null_safe=may_be_null_safe and choose(draw, (False, False, True)),
    )
    one_sided = kind in _ONE_SIDED
    source = relation(draw, scope, LEFT, left_key, ROW_NUMBER)
    if kind != "not in" and scope.has_functions("join condition") and draw(st.integers(0, 3)) == 3:
        join = _with_condition(draw, scope, right_scope, source, join)
    left = (left_key,) if source.distinct else (left_key, ROW_NUMBER)
    right = (right_key,) if join.right.distinct else (right_key, RIGHT_PREFIX + ROW_NUMBER)
    select = left if one_sided else (*left, *right)
    second = None
    # NOT IN is a condition in SQL, which a join cannot follow.
    if scope.has_third and kind != "not in" and draw(st.booleans()):
        second = _second_join(draw, scope, left_key if one_sided else choose(draw, (left_key, right_key)))
        if second.kind not in _ONE_SIDED:
            number = () if second.right.distinct else (THIRD_PREFIX + ROW_NUMBER,)
            select = (*select, second.right_key, *number)
    # Without an order, a LIMIT may be pushed to a side, if no row of the answer needs rows beyond it there.
    limited = draw(st.integers(0, 4)) >= 3
    order = draw(st.permutations(select)) if limited and draw(st.integers(0, 2)) == 2 else ()
    return Question(
        area="join",
        source=source,
        join=join,
        second=second,
        where=_where_joined(draw, scope, right_scope, source, join) if draw(st.booleans()) else None,
        select=select,
        order=tuple(key(draw, column_of(name, scope)) for name in order),
        limit=choose(draw, (1, 2, 5, 1, 2, 3, 0)) if limited else None,
    )


def _with_condition(
    draw: DrawFn, left: ConditionScope, right: ConditionScope, source: Relation, join: Join
) -> Join:
    """Draw a condition of ON beside the equality of the keys, or, of small tables, instead of it."""
    left_pools = {source.distinct: left.pools[source.distinct]} if source.distinct else left.pools
    right_key = join.right.distinct
    right_pools = {right_key: right.pools[right_key]} if right_key else right.pools
    left_key = Column(join.left_key, left.pools[join.left_key].type)
    right_column = Column(join.right_key, right.pools[join.right_key].type)
    if not left.is_large and left.has_functions("join without equal keys") and draw(st.booleans()):
        # Each row of one side meets many of the other, if not all.
        symbol = choose(draw, ("<", "<=", ">", ">=", "<=", ">=", "!="))
        return replace(join, on=Call(symbol, (left_key, right_column)), equal=False, null_safe=False)
    scope = ConditionScope(left.capabilities, {**left_pools, **right_pools}, pivot=left.pivot)
    pairs = [
        (Column(name, pool.type), Column(other, pool.type))
        for name, pool in left_pools.items()
        for other, of in right_pools.items()
        if of.type == pool.type
    ]
    if draw(st.booleans()):
        return replace(join, on=comparison(draw, scope, *choose(draw, pairs)))
    return replace(join, on=condition(draw, scope, depth=1))


def _second_join(draw: DrawFn, scope: ConditionScope, left_key: str) -> Join:
    """Draw a join of joined rows with the third table, by the key of either side."""
    kinds = [kind for kind in JOINS if kind not in {*scope.capabilities.joins_missing, "not in"}]
    type_ = column_of(left_key, scope).type
    alike = [name for name, pool in scope.pools.items() if pool.type == type_]
    right_key = THIRD_PREFIX + choose(draw, alike)
    third = scope_of(THIRD_PREFIX, scope)
    return Join(
        kind=choose(draw, kinds),
        right=relation(draw, third, THIRD, right_key, THIRD_PREFIX + ROW_NUMBER),
        left_key=left_key,
        right_key=right_key,
    )


def _where_joined(
    draw: DrawFn, left: ConditionScope, right: ConditionScope, source: Relation, join: Join
) -> Term | None:
    """Draw a condition after a join, on the columns of the sides that still have theirs."""
    pools = {} if source.distinct else dict(left.pools)
    if join.kind not in _ONE_SIDED and not join.right.distinct:
        pools |= right.pools
    return condition(draw, ConditionScope(left.capabilities, pools, pivot=left.pivot)) if pools else None


def column_of(name: str, scope: ConditionScope) -> Column:
    """Return a column of any table; all but the row number have the types of the left table's columns."""
    own = name.removeprefix(RIGHT_PREFIX).removeprefix(THIRD_PREFIX)
    return Column(name, "int64" if own == ROW_NUMBER else scope.pools[own].type)


def scope_of(prefix: str, scope: ConditionScope) -> ConditionScope:
    """Return the columns of another table, which have the types of the left table's."""
    pools = {prefix + name: pool for name, pool in scope.pools.items()}
    return ConditionScope(scope.capabilities, pools, pivot=scope.pivot)


def relation(draw: DrawFn, scope: ConditionScope, table: str, by: str, number: str) -> Relation:
    """Draw a table: plain, filtered, distinct by the join's key, or limited in a total order."""
    limited = ("limited", "ordered") if scope.has_functions("limited relation") else ()
    distinct = ("distinct",) if scope.has_functions("distinct relation") else ()
    shape = choose(draw, ("plain", "plain", "filtered", *limited, *distinct))
    if shape == "plain":
        return Relation(table=table)
    where = condition(draw, scope) if shape == "filtered" or draw(st.integers(0, 3)) == 3 else None
    if shape == "filtered":
        return Relation(table=table, where=where)
    if shape == "distinct":
        return Relation(table=table, where=where, distinct=by)
    last = key(draw, Column(number, "int64"))
    order = (key(draw, Column(by, scope.pools[by].type)), last) if shape == "ordered" else (last,)
    return Relation(table=table, where=where, order=order, limit=choose(draw, (1, 2, 3, 0)))


def key(draw: DrawFn, by: Term) -> Key:
    return Key(by, descending=draw(st.booleans()), nulls_first=draw(st.booleans()))
