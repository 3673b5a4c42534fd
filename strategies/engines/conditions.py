"""Draws conditions on the columns of a table, of what an engine knows.

Literals are the columns' own values and their neighbours, so that bounds are touched; each condition may
stand under NOT.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.engines.engine_tables import ALONE, Line, Options, Writers
from strategies.engines.engine_values import integer_range
from strategies.engines.questions import Call, Column, Literal, Term

INTEGERS = ("int8", "int16", "int32", "int64")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_MEMBER_COUNTS = (1, 2, 3, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Able:
    """What may be drawn.

    Attributes:
        areas: The classes of questions.
        functions_missing, types_missing, joins_missing: What is left out.
        settings: Switches of the optimizer, with their values, the default first.
        writers: Who may write files, and the options of each, with the values.
        layouts: What may be told to the engine's own table format, with the values; None where it has none.
    """

    areas: tuple[str, ...] = ("filter",)
    functions_missing: frozenset[str] = frozenset()
    types_missing: frozenset[str] = frozenset()
    joins_missing: frozenset[str] = frozenset()
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    writers: Writers = field(default_factory=lambda: ALONE)
    layouts: Options | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that a condition may name, each with its line; what functions there are."""

    able: Able
    lines: Mapping[str, Line]

    def knows(self, *functions: str) -> bool:
        """Whether the engine has all of these."""
        return not self.able.functions_missing.intersection(functions)


_Atom: TypeAlias = Callable[[DrawFn, Scope, Column, Line], Term]


def condition(draw: DrawFn, scope: Scope, depth: int = 2) -> Term:
    """One test, or several under NOT, AND and OR, as deep as that."""
    shapes = ["atom", "atom"]
    if depth:
        shapes += [name for name in ("not", "and", "or") if scope.knows(name)]
    shape = draw(st.sampled_from(shapes))
    if shape == "atom":
        return _atom(draw, scope)
    if shape == "not":
        return Call("not", (condition(draw, scope, depth - 1),))
    return Call(shape, tuple(condition(draw, scope, depth - 1) for _ in range(2)))


def _atom(draw: DrawFn, scope: Scope) -> Term:
    name = draw(st.sampled_from(sorted(scope.lines)))
    line = scope.lines[name]
    atoms: list[_Atom] = [_compare, _compare]
    for functions, types, atom in _ATOMS:
        if scope.knows(*functions) and (not types or line.type.startswith(types)):
            atoms.append(atom)
    return draw(st.sampled_from(atoms))(draw, scope, Column(name, line.type), line)


def _literal(draw: DrawFn, line: Line) -> Literal:
    return Literal(draw(st.sampled_from(line.values)), line.type)


def _compare(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    operator = draw(st.sampled_from([one for one in _COMPARISONS if scope.knows(one)]))
    return Call(operator, (column, _literal(draw, line)))


def _equal(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    return Call("=", (column, _literal(draw, line)))


def _null_test(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    return Call(draw(st.sampled_from(("is null", "is not null"))), (column,))


def _null_safe(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    operator = draw(st.sampled_from(("is not distinct from", "is distinct from")))
    value = draw(st.sampled_from((*line.values, None)))
    return Call(operator, (column, Literal(value, line.type)))


def _members(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    count = draw(st.sampled_from(_MEMBER_COUNTS))
    members = [_literal(draw, line) for _ in range(min(count, 3))] * (count // 3 or 1)
    if scope.knows("null in list") and draw(st.integers(0, 5)) == 5:
        members[0] = Literal(None, line.type)
    return Call("in", (column, *members))


def _between(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    return Call("between", (column, _literal(draw, line), _literal(draw, line)))


def _is_nan(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    return Call("is nan", (column,))


def _like(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    """A value's beginning, end or inside, with wildcards; its own wildcards are mostly escaped.

    A beginning may be longer than the value.
    """
    wild = [value for value in line.values if {"%", "_", "\\"}.intersection(value)]
    likely = bool(wild) and draw(st.booleans())
    text = draw(st.sampled_from(wild if likely else line.values))
    part = (text + "a")[: draw(st.integers(0, 3))] if draw(st.booleans()) else text
    pieces = ["\\" + one if one in "%_\\" else one for one in part]
    if draw(st.integers(0, 5)) == 5:
        pieces = [one for one in part if one != "\\"]
    whole = "".join(pieces)
    inside = "".join([*pieces[:1], "%", *pieces[1:]])
    ends = (whole + "%", whole, "%" + whole, whole + "_", "_" + whole, whole + "_%", inside, inside + "%")
    return Call("like", (column, Literal(draw(st.sampled_from(ends)), "string")))


def _starts_with(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    longer = draw(st.sampled_from(line.values)) + "a"
    return Call("starts with", (column, Literal(longer[: draw(st.integers(0, len(longer)))], "string")))


def _columns(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    alike = [name for name, other in scope.lines.items() if other.type == line.type]
    operator = draw(st.sampled_from([one for one in _COMPARISONS if scope.knows(one)]))
    return Call(operator, (column, Column(draw(st.sampled_from(alike)), line.type)))


def _arithmetic(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    # Operands as small as these overflow only at the limits of the type.
    operand = Literal(draw(st.sampled_from((1, 2, 3))), line.type)
    operators = [one for one in ("+", "-", "*", "%") if scope.knows(one)]
    operator = draw(st.sampled_from(operators))
    computed = Call(operator, (column, operand), line.type)
    small = Line(line.type, (0, 1, 2)) if operator == "%" else line
    return Call(draw(st.sampled_from(_COMPARISONS)), (computed, _literal(draw, small)))


def _widened(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    """A column beside a literal that its type may not hold."""
    low, high = integer_range(line.type)
    value = draw(st.sampled_from((high + 1, low - 1, high, low))) if line.type != "int64" else high
    return Call(draw(st.sampled_from(_COMPARISONS)), (column, Literal(value, "int64")))


def _cast(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    target = draw(st.sampled_from(("int64", "float64", "string", "int32")))
    kind = "try cast" if scope.knows("try cast") else "cast"
    cast = Call(kind, (column,), target)
    low, high = integer_range(target) if target in INTEGERS else (-(2**63), 2**63)
    value = max(low, min(draw(st.sampled_from(line.values)), high))
    spelt = {"string": str(value), "float64": float(value)}.get(target, value)
    return Call(draw(st.sampled_from(_COMPARISONS)), (cast, Literal(spelt, target)))


def _coalesced(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    either = Call("coalesce", (column, _literal(draw, line)), line.type)
    return Call(draw(st.sampled_from(_COMPARISONS)), (either, _literal(draw, line)))


def _chosen(draw: DrawFn, scope: Scope, column: Column, line: Line) -> Term:
    test = Call(draw(st.sampled_from(_COMPARISONS)), (column, _literal(draw, line)))
    either = Call("if", (test, column, _literal(draw, line)), line.type)
    return Call(draw(st.sampled_from(_COMPARISONS)), (either, _literal(draw, line)))


# What an atom needs: functions, and the beginnings of the types that it is for.
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
    (("wider literal",), INTEGERS, _widened),
    (("cast",), INTEGERS, _cast),
    (("coalesce",), (), _coalesced),
    (("if",), (), _chosen),
)
