"""Draws what engines are asked: a table or two, and questions about them.

What an engine lacks is not drawn. `engine_conditions` draws the conditions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.engines.conditions import INTEGERS, Able, Scope, condition
from strategies.engines.engine_tables import Stored, lines, stored
from strategies.engines.questions import (
    ROW_NUMBER,
    Aggregate,
    Call,
    Column,
    Join,
    Key,
    Literal,
    Question,
    Relation,
    Term,
)

LEFT, RIGHT, RIGHT_PREFIX = "t", "u", "u_"
JOINS = ("inner", "left", "right", "full", "semi", "anti", "not in")
_ONE_SIDED = ("semi", "anti", "not in")
_OFTEN = frozenset({"filter"})
# To write a world's files takes as long as ten or twenty questions.
QUESTIONS_MAX = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Tables by name, the settings of the engine, and questions."""

    tables: Mapping[str, Stored]
    settings: Mapping[str, str]
    questions: tuple[Question, ...]


_Ask: TypeAlias = Callable[[DrawFn, Scope], Question]


@st.composite
def worlds(draw: DrawFn, able: Able, *, questions_max: int = QUESTIONS_MAX) -> World:
    """Worlds of one area of questions.

    Shrinks to: one question, `a` compared with a literal.
    """
    # All other areas filter too, but hide some of what goes wrong there.
    area = draw(st.sampled_from((*able.areas, *_OFTEN.intersection(able.areas))))
    drawn = lines(without=able.types_missing)
    own = [draw(drawn)]
    if draw(st.booleans()):
        # Two columns of one line are compared with each other.
        own.append(own[0] if draw(st.booleans()) else draw(drawn))
    tables = {LEFT: draw(stored(own, writers=able.writers, layouts=able.layouts))}
    if area == "join":
        right = stored(
            own,
            prefix=RIGHT_PREFIX,
            # Two tables of thousands of equal keys each would have a join of millions of rows.
            repeats=(1,),
            blocks_max=2,
            writers=able.writers,
            layouts=able.layouts,
        )
        tables[RIGHT] = draw(right)
    scope = Scope(able, {column.name: line for column, line in zip(tables[LEFT].asked, own, strict=True)})
    count = draw(st.sampled_from((1,) if area == "dml" else (1, *(questions_max,) * 4)))
    questions = tuple(_ASKS[area](draw, scope) for _ in range(count))
    return World(tables=tables, settings=_settings(draw, able), questions=questions)


def _settings(draw: DrawFn, able: Able) -> dict[str, str]:
    """Often the defaults, else one to three switches set otherwise."""
    others = {name: values[1:] for name, values in sorted(able.settings.items()) if len(values) > 1}
    if not others or not draw(st.booleans()):
        return {}
    names = draw(st.lists(st.sampled_from(list(others)), min_size=1, max_size=3, unique=True))
    return {name: draw(st.sampled_from(others[name])) for name in names}


def _filter(draw: DrawFn, scope: Scope) -> Question:
    where = None if draw(st.integers(0, 15)) == 15 else condition(draw, scope)
    return Question(area="filter", source=Relation(table=LEFT, where=where), select=_select(draw, scope))


def _limit(draw: DrawFn, scope: Scope) -> Question:
    inner = draw(st.sampled_from((None, None, None, 0, 1, 3) if scope.knows("limited relation") else (None,)))
    source = Relation(
        table=LEFT,
        where=_maybe_condition(draw, scope),
        # Which rows a LIMIT inside takes is left to nothing.
        order=() if inner is None else (Key(Column(ROW_NUMBER, "int64"), descending=draw(st.booleans())),),
        limit=inner,
    )
    limit, offset = draw(_limits())
    return Question(area="limit", source=source, select=_select(draw, scope), limit=limit, offset=offset)


def _top_k(draw: DrawFn, scope: Scope) -> Question:
    names = draw(st.lists(st.sampled_from(sorted(scope.lines)), min_size=1, max_size=2, unique=True))
    keys = [_key(draw, Column(name, scope.lines[name].type)) for name in names]
    computed = scope.lines[names[0]].type in INTEGERS and scope.knows("order by expression", "+", "cast")
    if computed and draw(st.booleans()):
        keys[0] = _key(draw, _computed_key(draw, scope, names[0]))
    # Rows with equal keys may come in any order, which cannot be seen where a key is not in the answer.
    if isinstance(keys[0].by, Call) or draw(st.booleans()):
        keys.append(_key(draw, Column(ROW_NUMBER, "int64")))
    limit, offset = draw(_limits())
    return Question(
        area="topk",
        source=Relation(table=LEFT, where=_maybe_condition(draw, scope)),
        select=(*names, ROW_NUMBER),
        order=tuple(keys),
        limit=limit,
        offset=offset,
    )


def _computed_key(draw: DrawFn, scope: Scope, name: str) -> Term:
    column = Column(name, scope.lines[name].type)
    cast = Call("cast", (column,), draw(st.sampled_from(("int64", "float64", "string"))))
    negated = Call("*", (column, Literal(-1, column.type)), column.type)
    return draw(st.sampled_from((cast, negated, Call("abs", (column,), column.type))))


def _join(draw: DrawFn, scope: Scope) -> Question:
    kind = draw(st.sampled_from([kind for kind in JOINS if kind not in scope.able.joins_missing]))
    left_key = draw(st.sampled_from(sorted(scope.lines)))
    alike = [name for name, line in scope.lines.items() if line.type == scope.lines[left_key].type]
    right_key = RIGHT_PREFIX + draw(st.sampled_from(alike))
    right_scope = Scope(scope.able, {RIGHT_PREFIX + name: line for name, line in scope.lines.items()})
    join = Join(
        kind=kind,
        right=_relation(draw, right_scope, RIGHT, right_key, RIGHT_PREFIX + ROW_NUMBER),
        left_key=left_key,
        right_key=right_key,
        null_safe=kind != "not in" and scope.knows("null safe join") and draw(st.integers(0, 3)) == 3,
    )
    one_sided = kind in _ONE_SIDED
    source = _relation(draw, scope, LEFT, left_key, ROW_NUMBER)
    left = (left_key,) if source.distinct else (left_key, ROW_NUMBER)
    right = (right_key,) if join.right.distinct else (right_key, RIGHT_PREFIX + ROW_NUMBER)
    select = left if one_sided else (*left, *right)
    limited = draw(st.integers(0, 3)) == 3
    order = draw(st.permutations(select)) if limited and draw(st.booleans()) else ()
    return Question(
        area="join",
        source=source,
        join=join,
        where=_where_joined(draw, scope, right_scope, source, join) if draw(st.booleans()) else None,
        select=select,
        order=tuple(_key(draw, _column(name, scope)) for name in order),
        limit=draw(st.sampled_from((0, 1, 2, 5))) if limited else None,
    )


def _where_joined(draw: DrawFn, left: Scope, right: Scope, source: Relation, join: Join) -> Term | None:
    """A condition after a join, on the columns of both sides, or of those sides that still have theirs."""
    lines = {} if source.distinct else dict(left.lines)
    if join.kind not in _ONE_SIDED and not join.right.distinct:
        lines |= right.lines
    return condition(draw, Scope(left.able, lines)) if lines else None


def _column(name: str, scope: Scope) -> Column:
    """A column of either side, all of whose columns but the row number have the types of the left one's."""
    own = name.removeprefix(RIGHT_PREFIX)
    return Column(name, "int64" if own == ROW_NUMBER else scope.lines[own].type)


def _relation(draw: DrawFn, scope: Scope, table: str, key: str, number: str) -> Relation:
    """A table, filtered, made distinct by the join's key, or cut in an order that leaves nothing open."""
    limited = ("limited", "ordered") if scope.knows("limited relation") else ()
    distinct = ("distinct",) if scope.knows("distinct relation") else ()
    shape = draw(st.sampled_from(("plain", "plain", "filtered", *limited, *distinct)))
    if shape == "plain":
        return Relation(table=table)
    where = condition(draw, scope) if shape == "filtered" or draw(st.integers(0, 3)) == 3 else None
    if shape == "filtered":
        return Relation(table=table, where=where)
    if shape == "distinct":
        return Relation(table=table, where=where, distinct=key)
    last = _key(draw, Column(number, "int64"))
    order = (_key(draw, Column(key, scope.lines[key].type)), last) if shape == "ordered" else (last,)
    return Relation(table=table, where=where, order=order, limit=draw(st.sampled_from((1, 2, 3, 0))))


def _aggregate(draw: DrawFn, scope: Scope) -> Question:
    names = sorted(scope.lines)
    known = [
        *(Aggregate("count", name) for name in [None, *names] if name is None or scope.knows("count")),
        *(Aggregate(one, name) for one in ("min", "max") if scope.knows(one) for name in names),
    ]
    grouped = scope.knows("group by") and draw(st.integers(0, 3)) == 3
    return Question(
        area="aggregate",
        source=Relation(table=LEFT, where=_maybe_condition(draw, scope)),
        aggregates=tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))),
        group=draw(st.sampled_from(names)) if grouped else None,
    )


def _change(draw: DrawFn, scope: Scope) -> Question:
    name = draw(st.sampled_from(sorted(scope.lines)))
    line = scope.lines[name]
    updates = scope.knows("update") and draw(st.booleans())
    return Question(
        area="dml",
        source=Relation(table=LEFT, where=condition(draw, scope)),
        select=(*sorted(scope.lines), ROW_NUMBER),
        change=name if updates else "delete",
        to=Literal(draw(st.sampled_from(line.values)), line.type) if updates else None,
    )


_ASKS: dict[str, _Ask] = {
    "filter": _filter,
    "limit": _limit,
    "topk": _top_k,
    "join": _join,
    "aggregate": _aggregate,
    "dml": _change,
}


def _select(draw: DrawFn, scope: Scope) -> tuple[str, ...]:
    """All columns, or the row number alone, or one column beside it."""
    names = sorted(scope.lines)
    shown = draw(st.sampled_from((names, [], names[-1:])))
    return (*shown, ROW_NUMBER)


@st.composite
def _limits(draw: DrawFn) -> tuple[int | None, int]:
    """LIMIT and OFFSET, mostly small; an OFFSET may stand alone, and either may reach beyond the end."""
    limit = draw(st.sampled_from((1, 2, 3, 5, 1, 2, 3, 5, 0, 1_000, None)))
    offset = draw(st.sampled_from((0, 0, 0, 1, 3, 1_000)))
    return limit, offset if limit is not None else offset or 2


def _key(draw: DrawFn, by: Term) -> Key:
    return Key(by, descending=draw(st.booleans()), nulls_first=draw(st.booleans()))


def _maybe_condition(draw: DrawFn, scope: Scope) -> Term | None:
    return condition(draw, scope) if draw(st.booleans()) else None
