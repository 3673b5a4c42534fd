"""Scalar expressions of a wanted type over a table's columns: columns, literals, casts, CASE.

Arithmetic and functions come from their own modules; the conditions of CASE are drawn by
`Scope.condition`, so that this module does not need predicates.
"""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import Case, Cast, Coalesce, Expression, Literal
from pruning.expressions.types import STRING, Type, Value
from strategies.base.values import neighbours, values
from strategies.choices import choose
from strategies.predicates import arithmetic, functions
from strategies.predicates.carrying import values_on_rows
from strategies.predicates.conversions import casts, narrowings, translations, widenings
from strategies.predicates.scope import Fits, ScalarShape, Scope, is_numeric


def common_types(scope: Scope) -> SearchStrategy[Type]:
    """Types to compare in: mostly a column's own, else one that results from a cast or a computation."""
    own = st.sampled_from([column.type for column in scope.columns])
    cast = own.flatmap(lambda type_: st.sampled_from((type_, *casts(type_))))
    return st.one_of(
        own, own, cast, own.flatmap(arithmetic.result_types), own.flatmap(functions.result_types)
    )


def scalar(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw an expression of the type with at most `leaves` leaves; often a column.

    Shrinks to: a column, else a literal.
    """
    simple = [shape for shape, fits in _SIMPLE.items() if fits(scope, type_)] or [literal_of]
    compound = _compounds(scope, type_, leaves)
    # Columns and their casts are as frequent as all the rest: an expression of literals alone tests little.
    shapes = choose(draw, (simple, compound)) if compound else simple
    return choose(draw, shapes)(draw, scope, type_, leaves)


def compound(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw arithmetic, a function or CASE of the type, of two to `leaves` leaves."""
    return choose(draw, _compounds(scope, type_, leaves))(draw, scope, type_, leaves)


def literal(draw: DrawFn, scope: Scope, type_: Type, near: Expression | None = None) -> Literal:
    """Draw a literal: most often a value of the table or its neighbour; sometimes any value, or NULL.

    Args:
        near: The expression that it is compared with; the value is then mostly one that this has on a row.

    Shrinks to: a value of the table, where it has one of the type.
    """
    taken = () if near is None else values_on_rows(near, scope.rows)
    hits = taken or scope.values(type_)
    choices = ("hit", "hit", "near", "near", "any", "null") if hits else ("any", "any", "null")
    choice = choose(draw, choices)
    if choice == "null":
        return Literal(None, type_)
    if choice == "any":
        return Literal(draw(values(type_)), type_)
    hit: Value = choose(draw, hits)
    others = neighbours(hit, type_) if choice == "near" else ()
    return Literal(choose(draw, others) if others else hit, type_)


def texts(scope: Scope) -> SearchStrategy[str]:
    """Texts of the table's string columns, and their neighbours; a short one if there are none."""
    values = scope.values(STRING)
    near = [other for value in values for other in neighbours(value, STRING)]
    candidates = [value.decode("utf-8", "ignore") for value in (*values, *near) if isinstance(value, bytes)]
    return st.sampled_from(candidates or ["a"])


def case_shares(draw: DrawFn, leaves: int) -> tuple[tuple[int, int], ...]:
    """Draw the leaves of each branch's condition and value, one left for ELSE; one part gets most of them."""
    if leaves >= 5 and draw(st.booleans()):
        return ((1, leaves - 4), (1, 1))
    return choose(draw, (((leaves - 2, 1),), ((1, leaves - 2),)))


def literal_of(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw a literal, as a shape."""
    return literal(draw, scope, type_)


def column_of(draw: DrawFn, scope: Scope, type_: Type, leaves: int = 1) -> Expression:
    """Draw a column of exactly the type; the scope must have one."""
    return choose(draw, [column for column in scope.columns if column.type == type_])


def _compounds(scope: Scope, type_: Type, leaves: int) -> list[ScalarShape]:
    roomy = [shape for shape in _COMPOUND if leaves >= _LEAVES_MIN.get(shape, 2)]
    fitting = [shape for shape in roomy if _COMPOUND[shape](scope, type_)]
    return [shape for shape in fitting for _ in range(arithmetic.WEIGHTS.get(shape, 1))]


def _widening_cast(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    sources = [column for column in scope.columns if _holds_all(type_, column.type)]
    # No value is out of range, so the mode of the cast makes no difference.
    return Cast(choose(draw, sources), type_, choose(draw, scope.harmless))


def _narrowing_cast(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    sources = [column for column in scope.columns if type_ in narrowings(column.type)]
    return Cast(choose(draw, sources), type_, choose(draw, scope.overflowing))


def _cast(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw a cast of an expression of a column's type."""
    source = choose(draw, _cast_sources(scope, type_))
    modes = scope.harmless if _holds_all(type_, source) else scope.overflowing
    return Cast(compound(draw, scope, source, leaves), type_, choose(draw, modes))


def _cast_sources(scope: Scope, type_: Type) -> list[Type]:
    return [c.type for c in scope.columns if is_numeric(c.type) and type_ in casts(c.type)]


def _holds_all(target: Type, source: Type) -> bool:
    return target in widenings(source) or target in translations(source)


def _case(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    shares = case_shares(draw, leaves)
    branches = [
        (scope.condition(draw, scope, condition), scalar(draw, scope, type_, value))
        for condition, value in shares
    ]
    missing = draw(st.booleans())
    return Case(tuple(branches), Literal(None, type_) if missing else scalar(draw, scope, type_, 1))


def _coalesce(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    return Coalesce((scalar(draw, scope, type_, leaves - 1), scalar(draw, scope, type_, 1)))


# The columns that a simple shape needs; compound shapes need a number of leaves, too.
_SIMPLE: dict[ScalarShape, Fits] = {
    column_of: lambda scope, type_: any(column.type == type_ for column in scope.columns),
    _widening_cast: lambda scope, type_: any(_holds_all(type_, column.type) for column in scope.columns),
    _narrowing_cast: lambda scope, type_: any(type_ in narrowings(column.type) for column in scope.columns),
}
_COMPOUND: dict[ScalarShape, Fits] = {
    **arithmetic.SHAPES,
    **functions.SHAPES,
    _cast: lambda scope, type_: bool(_cast_sources(scope, type_)),
    _case: lambda scope, type_: True,
    _coalesce: lambda scope, type_: True,
}
_LEAVES_MIN: dict[ScalarShape, int] = {_case: 3, _cast: 3, **functions.LEAVES_MIN}
