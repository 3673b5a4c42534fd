"""Well-typed predicates over a table's columns, of every node of the trees except `Opaque`.

Literals are mostly the table's own values and their neighbours, so that predicates are TRUE,
FALSE and NULL on the same rows and bounds are touched. Values come from `strategies.predicates.scalars`.

"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import (
    And,
    Case,
    Coalesce,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Or,
    StartsWith,
)
from pruning.expressions.types import BOOLEAN, BYTES, STRING, Kind, Type
from strategies.base.tables import Table
from strategies.choices import choose
from strategies.predicates.scalars import (
    case_shares,
    column_of,
    common_types,
    compound,
    literal,
    scalar,
    texts,
)
from strategies.predicates.scope import Scope

Shape: TypeAlias = Callable[[DrawFn, Scope, int], Expression]

_MEMBERS_MAX = 24  # Spark turns lists of more than ten members into a set
_MEMBER_COUNTS = (1, 2, 3, 9, 10, 11, 20, _MEMBERS_MAX)
_ESCAPES = ("\\", "/", "!", "a")


@st.composite
def predicates(
    draw: DrawFn,
    table: Table,
    *,
    max_leaves: int = 6,
    modes: Sequence[Mode] = (Mode.TRY,),
    try_remainders: bool = False,
) -> Expression:
    """Boolean expressions over the columns of a table.

    Args:
        max_leaves: The most columns and literals, except IN lists, CASTs and digits; at least 2.
        modes: How arithmetic, functions and narrowing casts treat overflow and division by zero. TRY
            never raises. ANSI raises, which fails the whole query; LEGACY wraps or is NULL and needs
            a session with ANSI off. One predicate never has both of them. Without ANSI in `modes`, it
            is used only where no value can overflow and no divisor is zero.
        try_remainders: True if `%` may have the mode TRY, which Spark knows since 4.0.

    Shrinks to: a comparison of a column with a literal.
    """
    if not modes:
        raise ValueError("modes is empty; name at least one of Mode.TRY, Mode.ANSI and Mode.LEGACY")
    if max_leaves < 2:
        raise ValueError(f"max_leaves is {max_leaves}; a comparison alone has 2 leaves")
    scope = Scope.of(
        table,
        modes=tuple(modes),
        session=draw(_sessions(modes)),
        try_remainders=try_remainders,
        condition=boolean,
        scalar=scalar,
    )
    return boolean(draw, scope, max_leaves)


def boolean(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    """Draw a boolean expression of at most `leaves` leaves, except IN lists."""
    shapes = [shape for shape, leaves_min in SHAPES.items() if leaves_min <= leaves]
    if _compare_computed in shapes:
        shapes += [_compare_computed, _compare_computed]
    if scope.of_kind(*BYTES):
        shapes.append(_starts_with)
    if scope.of_kind(Kind.STRING):
        shapes += [_like, _like]
    return choose(draw, shapes)(draw, scope, leaves)


def _sessions(modes: Sequence[Mode]) -> st.SearchStrategy[Mode]:
    sessions = [mode for mode in (Mode.ANSI, Mode.LEGACY) if mode in modes]
    return st.sampled_from(sessions or [Mode.ANSI])


def _compare(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    operator = choose(draw, Comparison)
    type_ = draw(common_types(scope))
    compared = scalar(draw, scope, type_, leaves - 1)
    other: Expression = literal(draw, scope, type_, compared)
    if draw(st.booleans()):
        other = scalar(draw, scope, type_, max(1, leaves - 2))
    return Compare(operator, compared, other) if draw(st.booleans()) else Compare(operator, other, compared)


def _compare_computed(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    """Draw a comparison of arithmetic, a function or CASE with a constant or a column."""
    operator = choose(draw, Comparison)
    type_ = draw(common_types(scope))
    compared = compound(draw, scope, type_, leaves - 1)
    other = literal(draw, scope, type_, compared) if draw(st.booleans()) else scalar(draw, scope, type_, 1)
    return Compare(operator, compared, other)


def _between(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    type_ = draw(common_types(scope))
    # Spark writes the operand twice.
    operand = scalar(draw, scope, type_, max(1, leaves // 2 - 1))
    lower, upper = literal(draw, scope, type_, operand), literal(draw, scope, type_, operand)
    return And((Compare(Comparison.AT_LEAST, operand, lower), Compare(Comparison.AT_MOST, operand, upper)))


def _in(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    type_ = draw(common_types(scope))
    operand = scalar(draw, scope, type_, leaves - 1)
    count = choose(draw, _MEMBER_COUNTS)
    members: list[Expression] = [literal(draw, scope, type_, operand) for _ in range(count)]
    if draw(st.booleans()) and leaves > 2:
        members[0] = scalar(draw, scope, type_, 1)
    return In(operand, tuple(members))


def _is_null(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    if draw(st.booleans()) or leaves < 3:
        return IsNull(scalar(draw, scope, draw(common_types(scope)), leaves))
    return IsNull(boolean(draw, scope, leaves))


def _not(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    return Not(boolean(draw, scope, leaves))


def _truth_test(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    """Draw `p IS [NOT] TRUE` and the like, as Spark writes them."""
    truth = Literal(choose(draw, (True, False, None)), BOOLEAN)
    return Compare(Comparison.NULL_SAFE_EQUAL, boolean(draw, scope, leaves - 1), truth)


def _plain(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    as_column = bool(scope.of_kind(Kind.BOOLEAN)) and draw(st.booleans())
    if as_column:
        return column_of(draw, scope, BOOLEAN)
    return Literal(choose(draw, (True, False, None)), BOOLEAN)


def _and(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    return And(_operands(draw, scope, leaves))


def _or(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    return Or(_operands(draw, scope, leaves))


def _operands(draw: DrawFn, scope: Scope, leaves: int) -> tuple[Expression, ...]:
    count = draw(st.integers(2, min(3, leaves)))
    return tuple(boolean(draw, scope, max(1, leaves // count)) for _ in range(count))


def _case(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    shares = case_shares(draw, leaves)
    branches = [(boolean(draw, scope, condition), boolean(draw, scope, value)) for condition, value in shares]
    otherwise = boolean(draw, scope, 1) if draw(st.booleans()) else Literal(None, BOOLEAN)
    return Case(tuple(branches), otherwise)


def _coalesce(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    return Coalesce(_operands(draw, scope, leaves))


def _starts_with(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    type_ = choose(draw, [column.type for column in scope.of_kind(*BYTES)])
    return StartsWith(scalar(draw, scope, type_, leaves), draw(_prefixes(scope, type_)))


def _like(draw: DrawFn, scope: Scope, leaves: int) -> Expression:
    operand = scalar(draw, scope, STRING, leaves)
    escape = choose(draw, _ESCAPES)
    pieces = [_escaped_prefix(draw, draw(texts(scope)), escape)]
    pieces.append(choose(draw, ("%", "", "_", "%_", "_%", "%%")))
    if draw(st.booleans()):
        pieces += [_escaped_prefix(draw, draw(texts(scope)), escape), choose(draw, ("", "%"))]
    return Like(operand, "".join(pieces).encode(), escape)


def _escaped_prefix(draw: DrawFn, text: str, escape: str) -> str:
    """Return a prefix of the text with its wildcards escaped or, sometimes, left as wildcards."""
    prefix = text[: draw(st.integers(0, len(text)))]
    # The escape character must be escaped: before any other character it is an error.
    wild = {escape} if draw(st.booleans()) else {"%", "_", escape}
    return "".join(escape + character if character in wild else character for character in prefix)


def _prefixes(scope: Scope, type_: Type) -> st.SearchStrategy[bytes]:
    ends = st.sampled_from((None, -1, 1, 0, 16))
    if type_ == STRING:
        return st.builds(lambda text, end: text[:end].encode(), texts(scope), ends)
    values = [value for value in scope.values(type_) if isinstance(value, bytes)]
    return st.builds(lambda value, end: value[:end], st.sampled_from(values or [b"a"]), ends)


# The fewest leaves of each shape; examples shrink to the first shape.
SHAPES: dict[Shape, int] = {
    _compare: 2,
    _compare_computed: 3,
    _in: 2,
    _between: 4,
    _is_null: 1,
    _plain: 1,
    _not: 2,
    _truth_test: 2,
    _and: 2,
    _or: 2,
    _case: 3,
    _coalesce: 2,
}
