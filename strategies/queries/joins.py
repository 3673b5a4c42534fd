"""Joins of every kind that Spark has, by one key or several, equal or NULL-safe, plain or computed.

Semi and anti joins are drawn as joins and as the subqueries IN, NOT IN, EXISTS and NOT EXISTS.
"""

import enum
from itertools import combinations, cycle, islice

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Cast, Column, Expression, Mode
from pruning.expressions.types import LONG, STRING
from strategies.base.tables import Row
from strategies.choices import choose
from strategies.predicates.scalars import scalar
from strategies.queries.relations import SAMPLE_MAX, SampledRelation, condition, sample_of, scope_of

_KEY_FORMS = ("plain", "plain", "plain", "plain", "computed left", "computed right", "cast")
_EQUALS = ("=", "=", "=", "<=>")
_INEQUALITIES = ("<", "<=", ">", ">=", "<>")


class JoinSyntax(enum.Enum):
    """The kinds of joins; the value is what tallies call it."""

    INNER = "inner join"
    COMMA = "comma join"
    CROSS = "cross join"
    LEFT = "left join"
    RIGHT = "right join"
    FULL = "full join"
    SEMI = "left semi join"
    ANTI = "left anti join"
    IN = "IN subquery"
    NOT_IN = "NOT IN subquery"
    EXISTS = "EXISTS subquery"
    NOT_EXISTS = "NOT EXISTS subquery"


_BESIDE = {
    JoinSyntax.INNER: "JOIN",
    JoinSyntax.LEFT: "LEFT JOIN",
    JoinSyntax.RIGHT: "RIGHT JOIN",
    JoinSyntax.FULL: "FULL JOIN",
    JoinSyntax.SEMI: "LEFT SEMI JOIN",
    JoinSyntax.ANTI: "LEFT ANTI JOIN",
}
_MEMBER = {JoinSyntax.IN: "IN", JoinSyntax.NOT_IN: "NOT IN"}
_EXISTS = {JoinSyntax.EXISTS: "EXISTS", JoinSyntax.NOT_EXISTS: "NOT EXISTS"}
KEEPING_LEFT_ROWS = (JoinSyntax.LEFT, JoinSyntax.FULL)
_LEFT_COLUMNS_ONLY = (JoinSyntax.SEMI, JoinSyntax.ANTI, *_MEMBER, *_EXISTS)
# Every kind occurs; inner joins, which may prune one side, are three times as frequent as others.
KINDS = (JoinSyntax.INNER, JoinSyntax.INNER, *JoinSyntax)


# The kinds of joins by ranges.
RANGE_KINDS = (
    JoinSyntax.INNER, JoinSyntax.INNER, JoinSyntax.COMMA, JoinSyntax.RIGHT, JoinSyntax.SEMI,
    JoinSyntax.EXISTS, JoinSyntax.LEFT, JoinSyntax.ANTI,
)  # fmt: skip


def join_relations(
    draw: DrawFn, left: SampledRelation, right: SampledRelation, kind: JoinSyntax
) -> SampledRelation:
    """Join two relations without a common column name."""
    features: set[str] = set(right.features)
    if kind is JoinSyntax.CROSS:
        sql = f"SELECT * FROM {left.source} l CROSS JOIN {right.source} r"
    elif kind in _MEMBER:
        sql = _membership(draw, left, right, _MEMBER[kind], features)
    else:
        sql = _text(kind, left, right, _condition(draw, left, right, features))
    return _joined_relation(left, right, kind, sql, features)


def join_by_range(
    draw: DrawFn, left: SampledRelation, right: SampledRelation, kind: JoinSyntax
) -> SampledRelation | None:
    """Join rows of the left relation with those of the right one between whose columns a value lies.

    Returns:
        None where the right relation has no two columns that a column of the left one compares with.
    """
    places = [
        (key, lower, upper)
        for key in left.columns
        for lower, upper in combinations(right.columns, 2)
        if _are_comparable(key, lower) and _are_comparable(key, upper)
    ]
    if not places:
        return None
    key, lower, upper = map(to_sql, choose(draw, places))
    condition_, feature = choose(
        draw,
        (
            (f"{key} BETWEEN {lower} AND {upper}", "range join"),
            (f"{key} >= {lower} AND {key} < {upper}", "range join"),
            (f"{lower} < {key} AND {key} <= {upper}", "range join"),
            (f"{key} <= {upper}", "inequality join"),
            (f"{lower} < {key}", "inequality join"),
        ),
    )
    features = {*right.features, feature}
    if choose(draw, (False, False, False, True)):
        condition_ += f" AND {_equality(draw, left, right, features)}"
        features.add("range and key")
    return _joined_relation(left, right, kind, _text(kind, left, right, condition_), features)


def _joined_relation(
    left: SampledRelation, right: SampledRelation, kind: JoinSyntax, sql: str, features: set[str]
) -> SampledRelation:
    """Return a join with its text."""
    if kind in _LEFT_COLUMNS_ONLY:
        return left.then(sql, kind.value, *features)
    unique = (*left.unique, *right.unique) if left.unique and right.unique else ()
    sample = sample_of((*left.columns, *right.columns), _pair_rows(left, right))
    return left.then(sql, kind.value, *features, sample=sample, unique=unique)


def key_pair(
    draw: DrawFn, left: SampledRelation, right: SampledRelation, features: set[str]
) -> tuple[str, str]:
    """Draw the expressions that a join compares, on the left and on the right."""
    pairs = [
        (ours, theirs) for ours in left.columns for theirs in right.columns if _are_comparable(ours, theirs)
    ]
    if not pairs:
        column = choose(draw, right.columns)
        features.add("computed key")
        return to_sql(scalar(draw, scope_of(left.sample), column.type, 2)), to_sql(column)
    form = choose(draw, _KEY_FORMS)
    # Columns at the same place have common values.
    alike = [pair for pair in zip(left.columns, right.columns, strict=False) if _are_comparable(*pair)]
    ours, theirs = choose(draw, choose(draw, (alike or pairs, alike or pairs, pairs)))
    if form == "computed left":
        features.add("computed key")
        return to_sql(scalar(draw, scope_of(left.sample), theirs.type, 3)), to_sql(theirs)
    if form == "computed right":
        features.add("computed key")
        return to_sql(ours), to_sql(scalar(draw, scope_of(right.sample), ours.type, 3))
    if form == "cast":
        features.add("cast key")
        type_ = LONG if ours.type.integral and draw(st.booleans()) else STRING
        both: list[Expression] = [Cast(column, type_, Mode.ANSI) for column in (ours, theirs)]
        return to_sql(both[0]), to_sql(both[1])
    return to_sql(ours), to_sql(theirs)


def _text(kind: JoinSyntax, left: SampledRelation, right: SampledRelation, on: str) -> str:
    sides = f"{left.source} l", f"{right.source} r"
    if kind is JoinSyntax.COMMA:
        return f"SELECT * FROM {sides[0]}, {sides[1]} WHERE {on}"
    if kind in _EXISTS:
        return f"SELECT * FROM {sides[0]} WHERE {_EXISTS[kind]} (SELECT 1 FROM {sides[1]} WHERE {on})"
    return f"SELECT * FROM {sides[0]} {_BESIDE[kind]} {sides[1]} ON {on}"


def _condition(draw: DrawFn, left: SampledRelation, right: SampledRelation, features: set[str]) -> str:
    """Draw one or two keys, and sometimes a condition that is no key; or inequalities alone."""
    if choose(draw, (False,) * 5 + (True,)):
        features.add("only inequalities")
        return " AND ".join(_inequality(draw, left, right, features) for _ in range(choose(draw, (1, 2))))
    keys = [_equality(draw, left, right, features) for _ in range(choose(draw, (1, 1, 1, 2)))]
    text = " AND ".join(keys)
    if len(keys) > 1:
        either = choose(draw, (False, False, False, True))
        features.add("either key" if either else "several keys")
        text = f"({' OR '.join(keys)})" if either else text
    extra = choose(draw, ("none", "none", "none", "unequal", "one side"))
    if extra == "unequal":
        features.add("non-equi condition")
        return f"{text} AND {_inequality(draw, left, right, features)}"
    if extra == "one side":
        features.add("condition on one side")
        side = choose(draw, (left, right))
        return f"{text} AND {condition(draw, side.sample)[0]}"
    return text


def _inequality(draw: DrawFn, left: SampledRelation, right: SampledRelation, features: set[str]) -> str:
    ours, theirs = key_pair(draw, left, right, features)
    return f"{ours} {choose(draw, _INEQUALITIES)} {theirs}"


def _equality(draw: DrawFn, left: SampledRelation, right: SampledRelation, features: set[str]) -> str:
    operator = choose(draw, _EQUALS)
    if operator == "<=>":
        features.add("null-safe key")
    ours, theirs = key_pair(draw, left, right, features)
    return f"{ours} {operator} {theirs}"


def _membership(
    draw: DrawFn, left: SampledRelation, right: SampledRelation, word: str, features: set[str]
) -> str:
    pairs = [key_pair(draw, left, right, features) for _ in range(choose(draw, (1, 1, 1, 2)))]
    if len(pairs) > 1:
        features.add("several keys")
    tuple_ = ", ".join(ours for ours, _ in pairs)
    tuple_ = tuple_ if len(pairs) == 1 else f"({tuple_})"
    inner = f"SELECT {', '.join(theirs for _, theirs in pairs)} FROM {right.source} r"
    if choose(draw, (False, False, False, True)):
        features.add("correlated IN")
        ours, theirs = key_pair(draw, left, right, features)
        inner += f" WHERE {ours} = {theirs}"
    return f"SELECT * FROM {left.source} l WHERE {tuple_} {word} ({inner})"


def _are_comparable(left: Column, right: Column) -> bool:
    return left.type == right.type or (left.type.integral and right.type.integral)


def _pair_rows(left: SampledRelation, right: SampledRelation) -> list[Row]:
    """Return rows such as the join may have: rows of both sides, paired by position."""
    sides = [side.sample.rows or ((None,) * len(side.columns),) for side in (left, right)]
    length = min(SAMPLE_MAX, max(map(len, sides)))
    pairs = zip(cycle(sides[0]), cycle(sides[1]), strict=False)
    return [ours + theirs for ours, theirs in islice(pairs, length)]
