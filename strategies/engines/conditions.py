"""Draw conditions on the columns of a table, within an engine's capabilities.

Literals are the columns' own values and their neighbours, so that bounds are touched; many are values of one
row, the pivot. Each condition may stand under NOT.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import ConditionScope, Operand
from strategies.engines.engine_values import INTEGERS, integer_range, more_values
from strategies.engines.questions import Call, Column, Literal, Term
from strategies.engines.terms import COMPARISONS, column, constant, operand, value_of

# Lists of many members are pruned by other code than short ones; the longest take long to write and to read.
_MEMBER_COUNTS = (1, 2, 5, 20)
_MANY_MEMBERS = (200, 200, 200, 2_000)


_Atom: TypeAlias = Callable[[DrawFn, ConditionScope, Operand], Term]


def condition(draw: DrawFn, scope: ConditionScope, depth: int = 2) -> Term:
    """Draw a test, or several under NOT, AND and OR, nested at most `depth` deep."""
    shapes = ["atom", "atom", "atom"]
    if depth:
        shapes += [name for name in ("not", "and", "or") if scope.has_functions(name)]
    shape = choose(draw, shapes)
    if shape == "atom":
        return _atom(draw, scope)
    if shape == "not":
        return Call("not", (condition(draw, scope, depth - 1),))
    if choose(draw, (False, False, True)):
        # Sides of one column, such as an interval with an exception, are judged by the same statistics.
        name = choose(draw, sorted(scope.pools))
        scope = replace(scope, pools={name: scope.pools[name]})
    return Call(shape, tuple(condition(draw, scope, depth - 1) for _ in range(2)))


def _atom(draw: DrawFn, scope: ConditionScope) -> Term:
    tested = operand(draw, scope)
    atoms: list[_Atom] = [_compare, _compare]
    for functions, types, atom in _ATOMS:
        if scope.has_functions(*functions) and (not types or tested.pool.type.startswith(types)):
            atoms.append(atom)
    return choose(draw, atoms)(draw, scope, tested)


def comparison(draw: DrawFn, scope: ConditionScope, left: Term, right: Term) -> Call:
    """Draw a comparison of two terms."""
    symbols = [symbol for symbol in COMPARISONS if scope.has_functions(symbol)]
    return Call(choose(draw, symbols), (left, right))


def _compare(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    return comparison(draw, scope, tested.term, constant(draw, scope, tested))


def _equal(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    return Call("=", (tested.term, constant(draw, scope, tested)))


def _null_test(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    return Call(choose(draw, ("is null", "is not null")), (tested.term,))


def _null_safe(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    function = choose(draw, ("is not distinct from", "is distinct from"))
    value = None if draw(st.integers(0, 3)) == 3 else value_of(draw, scope, tested)
    return Call(function, (tested.term, Literal(value, tested.pool.type)))


def _members(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    """Draw a list of distinct members: values of the pool, and values near one of them."""
    count = choose(draw, _MANY_MEMBERS if draw(st.integers(0, 24)) == 24 else _MEMBER_COUNTS)
    pool = tested.pool
    own = [value_of(draw, scope, tested) for _ in range(draw(st.integers(1, min(count, 5))))]
    members = {repr(value): value for value in own}
    for value in more_values(own[0], pool.type, count):
        if len(members) < count:
            members.setdefault(repr(value), value)
    values = list(members.values())
    if scope.has_functions("null in list") and draw(st.integers(0, 5)) == 5:
        values[draw(st.integers(0, len(values) - 1))] = None
    return Call("in", (tested.term, *(Literal(value, pool.type) for value in values)))


def _between(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    return Call("between", (tested.term, constant(draw, scope, tested), constant(draw, scope, tested)))


def _is_nan(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    return Call("is nan", (tested.term,))


def _like(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    """Draw a pattern of a value's beginning, end or inside, or a value; its own wildcards are mostly escaped.

    A beginning may be longer than the value.
    """
    wild = [value for value in tested.pool.values if {"%", "_", "\\"}.intersection(value)]
    is_wild = bool(wild) and draw(st.booleans())
    text = choose(draw, wild) if is_wild else value_of(draw, scope, tested)
    # Without wildcards LIKE is an equality, by which engines prune a column, and seldom an expression.
    is_whole = draw(st.booleans()) and (isinstance(tested.term, Column) or draw(st.booleans()))
    part = text if is_whole or draw(st.booleans()) else (text + "a")[: draw(st.integers(0, 3))]
    pieces = ["\\" + character if character in "%_\\" else character for character in part]
    if draw(st.integers(0, 5)) == 5:
        pieces = [character for character in part if character != "\\"]
    whole = "".join(pieces)
    inside = "".join([*pieces[:1], "%", *pieces[1:]])
    ends = (whole + "%", whole, "%" + whole, whole + "_", "_" + whole, whole + "_%", inside, inside + "%")
    pattern = whole if is_whole else choose(draw, ends)
    return Call("like", (tested.term, Literal(pattern, "string")))


def _starts_with(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    longer = value_of(draw, scope, tested) + "a"
    return Call("starts with", (tested.term, Literal(longer[: draw(st.integers(0, len(longer)))], "string")))


def _operands(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    """Compare two operands: with another expression of the type, or a column."""
    other = operand(draw, scope)
    if other.pool.type != tested.pool.type:
        alike = [name for name, of in scope.pools.items() if of.type == tested.pool.type]
        if not alike:
            return _compare(draw, scope, tested)
        other = column(scope, choose(draw, alike))
    return comparison(draw, scope, tested.term, other.term)


def _wider_constant(draw: DrawFn, scope: ConditionScope, tested: Operand) -> Term:
    """Compare with a constant that the type may not hold."""
    low, high = integer_range(tested.pool.type)
    value = choose(draw, (high + 1, low - 1, high, low)) if tested.pool.type != "int64" else high
    return comparison(draw, scope, tested.term, Literal(value, "int64"))


# For each atom: the functions that it needs, and the beginnings of the types that it applies to.
_ATOMS: tuple[tuple[tuple[str, ...], tuple[str, ...], _Atom], ...] = (
    # Of comparisons, bloom filters answer equality alone.
    *[(("=",), (), _equal)] * 2,
    (("is null", "is not null"), (), _null_test),
    (("is null", "is not null"), (), _null_test),
    *[(("is not distinct from", "is distinct from"), (), _null_safe)] * 2,
    # Tests of NaN leave less room for these.
    (("is not distinct from", "is distinct from"), ("float",), _null_safe),
    *[(("in",), (), _members)] * 4,
    # Half of the operands are expressions, which NaN is seldom in.
    *[(("in",), ("float",), _members)] * 4,
    (("between",), (), _between),
    (("is nan",), ("float",), _is_nan),
    *[(("like",), ("string",), _like)] * 30,
    *[(("starts with",), ("string",), _starts_with)] * 3,
    (("column comparison",), (), _operands),
    (("wider literal",), INTEGERS, _wider_constant),
)
