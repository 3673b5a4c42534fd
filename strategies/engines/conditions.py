"""Draw conditions on the columns of a table, within an engine's capabilities.

Literals are the columns' own values and their neighbours, so that bounds are touched; each condition may
stand under NOT.

"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.engine_tables import ALONE, Options, ValuePool, Writers
from strategies.engines.engine_values import integer_range
from strategies.engines.questions import Call, Column, Literal, Term

INTEGERS = ("int8", "int16", "int32", "int64")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_MEMBER_COUNTS = (1, 2, 3, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """An engine's capabilities, which limit what is drawn.

    Attributes:
        areas: The classes of questions.
        functions_missing, types_missing, joins_missing: The functions, types and joins that it lacks.
        settings: Switches of the optimizer, with their values, the default first.
        writers: The engines that may write files, and the options of each, with their values.
        layouts: The options of the engine's own table format, with their values; None if it has none.
    """

    areas: tuple[str, ...] = ("filter",)
    functions_missing: frozenset[str] = frozenset()
    types_missing: frozenset[str] = frozenset()
    joins_missing: frozenset[str] = frozenset()
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    writers: Writers = field(default_factory=lambda: ALONE)
    layouts: Options | None = None


@dataclass(frozen=True, slots=True)
class ConditionScope:
    """The columns that a condition may name, each with its pool of values, and the available functions."""

    capabilities: Capabilities
    pools: Mapping[str, ValuePool]

    def has_functions(self, *functions: str) -> bool:
        """Tell whether the engine has all these functions."""
        return not self.capabilities.functions_missing.intersection(functions)


_Atom: TypeAlias = Callable[[DrawFn, ConditionScope, Column, ValuePool], Term]


def condition(draw: DrawFn, scope: ConditionScope, depth: int = 2) -> Term:
    """Draw a test, or several under NOT, AND and OR, nested at most `depth` deep."""
    shapes = ["atom", "atom"]
    if depth:
        shapes += [name for name in ("not", "and", "or") if scope.has_functions(name)]
    shape = choose(draw, shapes)
    if shape == "atom":
        return _atom(draw, scope)
    if shape == "not":
        return Call("not", (condition(draw, scope, depth - 1),))
    return Call(shape, tuple(condition(draw, scope, depth - 1) for _ in range(2)))


def _atom(draw: DrawFn, scope: ConditionScope) -> Term:
    name = choose(draw, sorted(scope.pools))
    pool = scope.pools[name]
    atoms: list[_Atom] = [_compare, _compare]
    for functions, types, atom in _ATOMS:
        if scope.has_functions(*functions) and (not types or pool.type.startswith(types)):
            atoms.append(atom)
    return choose(draw, atoms)(draw, scope, Column(name, pool.type), pool)


def _literal(draw: DrawFn, pool: ValuePool) -> Literal:
    return Literal(choose(draw, pool.values), pool.type)


def _compare(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    operator = choose(draw, [symbol for symbol in _COMPARISONS if scope.has_functions(symbol)])
    return Call(operator, (column, _literal(draw, pool)))


def _equal(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    return Call("=", (column, _literal(draw, pool)))


def _null_test(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    return Call(choose(draw, ("is null", "is not null")), (column,))


def _null_safe(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    operator = choose(draw, ("is not distinct from", "is distinct from"))
    value = choose(draw, (*pool.values, None))
    return Call(operator, (column, Literal(value, pool.type)))


def _members(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    count = choose(draw, _MEMBER_COUNTS)
    members = [_literal(draw, pool) for _ in range(min(count, 3))] * (count // 3 or 1)
    if scope.has_functions("null in list") and draw(st.integers(0, 5)) == 5:
        members[0] = Literal(None, pool.type)
    return Call("in", (column, *members))


def _between(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    return Call("between", (column, _literal(draw, pool), _literal(draw, pool)))


def _is_nan(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    return Call("is nan", (column,))


def _like(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    """Draw a pattern of a value's beginning, end or inside; its own wildcards are mostly escaped.

    A beginning may be longer than the value.

    """
    wild = [value for value in pool.values if {"%", "_", "\\"}.intersection(value)]
    likely = bool(wild) and draw(st.booleans())
    text = choose(draw, wild if likely else pool.values)
    part = (text + "a")[: draw(st.integers(0, 3))] if draw(st.booleans()) else text
    pieces = ["\\" + character if character in "%_\\" else character for character in part]
    if draw(st.integers(0, 5)) == 5:
        pieces = [character for character in part if character != "\\"]
    whole = "".join(pieces)
    inside = "".join([*pieces[:1], "%", *pieces[1:]])
    ends = (whole + "%", whole, "%" + whole, whole + "_", "_" + whole, whole + "_%", inside, inside + "%")
    return Call("like", (column, Literal(choose(draw, ends), "string")))


def _starts_with(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    longer = choose(draw, pool.values) + "a"
    return Call("starts with", (column, Literal(longer[: draw(st.integers(0, len(longer)))], "string")))


def _columns(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    alike = [name for name, other in scope.pools.items() if other.type == pool.type]
    operator = choose(draw, [symbol for symbol in _COMPARISONS if scope.has_functions(symbol)])
    return Call(operator, (column, Column(choose(draw, alike), pool.type)))


def _arithmetic(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    # Operands as small as these overflow only at the limits of the type.
    operand = Literal(choose(draw, (1, 2, 3)), pool.type)
    operators = [symbol for symbol in ("+", "-", "*", "%") if scope.has_functions(symbol)]
    operator = choose(draw, operators)
    computed = Call(operator, (column, operand), pool.type)
    small = ValuePool(pool.type, (0, 1, 2)) if operator == "%" else pool
    return Call(choose(draw, _COMPARISONS), (computed, _literal(draw, small)))


def _wider_literal(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    """Compare a column with a literal that its type may not hold."""
    low, high = integer_range(pool.type)
    value = choose(draw, (high + 1, low - 1, high, low)) if pool.type != "int64" else high
    return Call(choose(draw, _COMPARISONS), (column, Literal(value, "int64")))


def _cast(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    target = choose(draw, ("int64", "float64", "string", "int32"))
    kind = "try cast" if scope.has_functions("try cast") else "cast"
    cast = Call(kind, (column,), target)
    low, high = integer_range(target) if target in INTEGERS else (-(2**63), 2**63)
    value = max(low, min(choose(draw, pool.values), high))
    spelt = {"string": str(value), "float64": float(value)}.get(target, value)
    return Call(choose(draw, _COMPARISONS), (cast, Literal(spelt, target)))


def _coalesce(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    either = Call("coalesce", (column, _literal(draw, pool)), pool.type)
    return Call(choose(draw, _COMPARISONS), (either, _literal(draw, pool)))


def _if(draw: DrawFn, scope: ConditionScope, column: Column, pool: ValuePool) -> Term:
    test = Call(choose(draw, _COMPARISONS), (column, _literal(draw, pool)))
    either = Call("if", (test, column, _literal(draw, pool)), pool.type)
    return Call(choose(draw, _COMPARISONS), (either, _literal(draw, pool)))


# For each atom: the functions that it needs, and the beginnings of the types that it applies to.
_ATOMS: tuple[tuple[tuple[str, ...], tuple[str, ...], _Atom], ...] = (
    (("=",), (), _equal),
    (("is null", "is not null"), (), _null_test),
    (("is null", "is not null"), (), _null_test),
    (("is not distinct from", "is distinct from"), (), _null_safe),
    (("in",), (), _members),
    (("between",), (), _between),
    (("is nan",), ("float",), _is_nan),
    *[(("like",), ("string",), _like)] * 3,
    *[(("starts with",), ("string",), _starts_with)] * 3,
    (("column comparison",), (), _columns),
    (("+",), INTEGERS, _arithmetic),
    (("wider literal",), INTEGERS, _wider_literal),
    (("cast",), INTEGERS, _cast),
    (("coalesce",), (), _coalesce),
    (("if",), (), _if),
)
