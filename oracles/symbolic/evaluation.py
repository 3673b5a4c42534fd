"""The meaning of SQL expressions on one symbolic row, as Z3 terms, by which proofs are judged.

Shares   the expression trees; no rule, no range, no program.
Trusts   Z3, and the axioms named below.
Removes  block metadata: a row is a row, whatever a footer states about it.
Leaves   the representation of values (see `Ideals`): float rounding is any monotone function, and byte
         strings are places in a total order.

Axioms: PREFIX - a byte string s has the prefix p if and only if p <= s < end(p), where end(p) is p with its
last byte below 0xFF incremented and the rest cut off. ZONE - an instant and its local time differ by at most
18 hours. ROUNDING - rounding to nearest is monotone. MONOTONE, TEXT and POSITIVE: see
`oracles.symbolic.functions`; START: see `oracles.symbolic.texts`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import z3

from oracles.meaning.numbers import NoSecondOpinion
from oracles.symbolic import texts
from oracles.symbolic.arithmetic import arithmetic
from oracles.symbolic.casts import are_numbers, cast
from oracles.symbolic.functions import axioms, call
from oracles.symbolic.ideals import NO, YES, ZERO, Ideals, SymbolicValue, Term, choose, fit, is_less
from pruning.expressions import trees
from pruning.expressions.function_groups import ARRAY_FUNCTIONS, TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Comparison, Element, Expression, Function, Mode, Quantifier, type_of
from pruning.expressions.types import BOOLEAN, BYTES, NULL, Kind, Type, Value

__all__ = ["Ideals", "Meaning", "SymbolicValue", "Term"]

_MICROS_PER_DAY = 24 * 60 * 60 * 1_000_000
_ZONE_MICROS_MAX = 18 * 60 * 60 * 1_000_000
_UNKNOWN = TEXT_FUNCTIONS | TIME_FUNCTIONS
_ROUNDING = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})


def _truth_value(null: Term, true: Term, *, raises: Term = NO) -> SymbolicValue:
    return SymbolicValue(raises=raises, null=null, nan=NO, value=z3.If(true, 1, 0), sign=ZERO)


@dataclass(slots=True)
class Meaning:
    """Evaluates expressions on the row `columns`; `assumptions` collects the axioms that apply.

    `element` makes some element of some array of the block, another one at each call. `opaque_outcomes` holds
    the outcomes chosen for parts of which nothing is known, so that equal parts have equal outcomes. `times`
    may give the meaning of functions of time, in terms for which the proof has axioms.
    """

    columns: Mapping[str, SymbolicValue]
    ideals: Ideals
    element: Callable[[Element], SymbolicValue] | None = None
    times: "Callable[[Meaning, Expression], SymbolicValue | None] | None" = None
    assumptions: list[Term] = field(default_factory=list)
    opaque_outcomes: dict[Expression, SymbolicValue] = field(default_factory=dict)
    _fresh: int = 0
    _applied: dict[str, list[tuple[Term, Term]]] = field(default_factory=dict)

    def of(self, node: Expression) -> SymbolicValue:
        """Return the value of an expression on the row."""
        time_value = None if self.times is None else self.times(self, node)
        return _MEANINGS[type(node)](self, node) if time_value is None else time_value

    @property
    def real_functions(self) -> Ideals:
        """The ideals, extended by the axioms of each function that is applied."""
        return replace(self.ideals, apply=self._apply)

    def _apply(self, name: str, arguments: list[Term]) -> Term:
        result = self.ideals.apply(name, arguments)
        earlier = self._applied.setdefault(name, [])
        self.assumptions += axioms(name, arguments, result, earlier)
        earlier.append((arguments[0], result))
        return result

    def fresh(self, name: str) -> str:
        """Return a name that no other variable has."""
        self._fresh += 1
        return f"{name} {self._fresh}"


def _column(meaning: Meaning, node: Any) -> SymbolicValue:
    return meaning.columns[node.name]


def _literal(meaning: Meaning, node: Any) -> SymbolicValue:
    value: Value | None = node.value
    nan = isinstance(value, float) and math.isnan(value)
    sign, term = ZERO, z3.RealVal(0) if node.type.floating else ZERO
    if isinstance(value, bytes):
        term = meaning.ideals.place(value)
    elif node.type.floating and value is not None and not nan:
        infinite = math.isinf(value)
        sign = z3.IntVal(int(math.copysign(1, value)) if infinite else 0)
        term = z3.RealVal(0 if infinite else str(Decimal(value)))
    elif value is not None and not nan:
        term = z3.IntVal(int(Fraction(value) * 10**node.type.scale))
    return SymbolicValue(
        raises=NO, null=z3.BoolVal(value is None), nan=z3.BoolVal(nan), value=term, sign=sign
    )


def _compare(meaning: Meaning, node: Any) -> SymbolicValue:
    left, right = meaning.of(node.left), meaning.of(node.right)
    raises, null = z3.Or(left.raises, right.raises), z3.Or(left.null, right.null)
    below, equal = is_less(left, right), _equal(left, right)
    match node.operator:
        case Comparison.NULL_SAFE_EQUAL:
            both = z3.And(left.null, right.null)
            return _truth_value(NO, z3.Or(both, z3.And(z3.Not(null), equal)), raises=raises)
        case Comparison.EQUAL:
            true = equal
        case Comparison.LESS:
            true = below
        case Comparison.AT_MOST:
            true = z3.Or(below, equal)
        case Comparison.GREATER:
            true = z3.Not(z3.Or(below, equal))
        case _:
            true = z3.Not(below)
    return _truth_value(null, true, raises=raises)


def _equal(left: SymbolicValue, right: SymbolicValue) -> Term:
    numbers = z3.And(left.sign == right.sign, z3.Or(left.sign != 0, left.value == right.value))
    return z3.Or(z3.And(left.nan, right.nan), z3.And(z3.Not(left.nan), z3.Not(right.nan), numbers))


def _and(meaning: Meaning, node: Any) -> SymbolicValue:
    return _conjunction([meaning.of(operand) for operand in node.operands])


def _or(meaning: Meaning, node: Any) -> SymbolicValue:
    return _negate(_conjunction([_negate(meaning.of(operand)) for operand in node.operands]))


def _conjunction(operands: list[SymbolicValue]) -> SymbolicValue:
    """Return AND: FALSE if some operand is, in any order of evaluation; otherwise it raises if one raises."""
    false = z3.Or(*(z3.And(z3.Not(operand.raises), operand.false) for operand in operands))
    raises = z3.And(z3.Not(false), z3.Or(*(operand.raises for operand in operands)))
    null = z3.And(z3.Not(false), z3.Or(*(operand.null for operand in operands)))
    return _truth_value(null, z3.Not(false), raises=raises)


def _not(meaning: Meaning, node: Any) -> SymbolicValue:
    return _negate(meaning.of(node.operand))


def _negate(operand: SymbolicValue) -> SymbolicValue:
    return _truth_value(operand.null, operand.value == 0, raises=operand.raises)


def _is_null(meaning: Meaning, node: Any) -> SymbolicValue:
    operand = meaning.of(node.operand)
    return _truth_value(NO, operand.null, raises=operand.raises)


def _in(meaning: Meaning, node: Any) -> SymbolicValue:
    operand = meaning.of(node.operand)
    members = [meaning.of(member) for member in node.members]
    is_member = z3.Or(
        *(z3.And(z3.Not(operand.null), z3.Not(member.null), _equal(operand, member)) for member in members)
    )
    unsure = z3.Or(operand.null, *(member.null for member in members))
    raises = z3.Or(operand.raises, *(member.raises for member in members))
    return _truth_value(z3.And(z3.Not(is_member), unsure), is_member, raises=raises)


def _starts_with(meaning: Meaning, node: Any) -> SymbolicValue:
    operand = meaning.of(node.operand)
    return _truth_value(operand.null, _has_prefix(meaning, operand, node.prefix), raises=operand.raises)


def _has_prefix(meaning: Meaning, operand: SymbolicValue, prefix: bytes) -> Term:
    """Return the term of axiom PREFIX: the operand begins with the prefix."""
    stem = prefix.rstrip(b"\xff")
    below = YES
    if stem:
        below = operand.value < meaning.ideals.place(stem[:-1] + bytes([stem[-1] + 1]))
    return z3.And(meaning.ideals.place(prefix) <= operand.value, below)


def _quantifier(meaning: Meaning, node: Any) -> SymbolicValue:
    """Let EXISTS be TRUE, or FORALL be FALSE, only if the body is so for some element; else leave it open."""
    assert meaning.element is not None
    elements = {part.name: part for part in walk(node.body) if isinstance(part, Element)}
    witness = {name: meaning.element(part) for name, part in elements.items()}
    inside = replace(meaning, columns={**meaning.columns, **witness}, assumptions=[], opaque_outcomes={})
    body = inside.of(node.body)
    null, true = (z3.Bool(meaning.fresh(name)) for name in ("quantified is NULL", "quantified is TRUE"))
    exists = node.quantifier is Quantifier.EXISTS
    decided, by_element = (true, body.true) if exists else (z3.Not(true), body.false)
    meaning.assumptions += [*inside.assumptions, z3.Implies(z3.And(z3.Not(null), decided), by_element)]
    return _truth_value(null, true)


def _like(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return some truth value: TRUE only with the literal prefix, and always with it if only `%` follows."""
    outcome = _unknown_match(meaning, node)
    operand = meaning.of(node.operand)
    text, rest = _before_wildcard(node.pattern.decode("utf-8", errors="replace"), node.escape)
    matches, has_prefix = outcome.value == 1, _has_prefix(meaning, operand, text.encode())
    only_anything = bool(rest) and set(rest) == {"%"}
    meaning.assumptions.append(matches == has_prefix if only_anything else z3.Implies(matches, has_prefix))
    return outcome


def _before_wildcard(pattern: str, escape: str) -> tuple[str, str]:
    """Return the literal text before the first wildcard or undecodable byte, and the rest."""
    literal = ""
    rest = pattern
    while rest and rest[0] not in "%_\ufffd":
        taken = rest[1:2] if rest[0] == escape else rest[0]
        rest = rest[2:] if rest[0] == escape else rest[1:]
        literal += taken
    return literal, rest


def _case(meaning: Meaning, node: Any) -> SymbolicValue:
    result = _as_type(meaning.of(node.otherwise), type_of(node))
    for condition, value in reversed(node.branches):
        tested = meaning.of(condition)
        result = choose(tested.true, _as_type(meaning.of(value), type_of(node)), result)
        result = _with_raises(result, z3.Or(tested.raises, result.raises))
    return result


def _coalesce(meaning: Meaning, node: Any) -> SymbolicValue:
    *firsts, last = (_as_type(meaning.of(operand), type_of(node)) for operand in node.operands)
    result = last
    for operand in reversed(firsts):
        result = choose(z3.Not(operand.null), operand, result)
        result = _with_raises(result, z3.Or(operand.raises, result.raises))
    return result


def _as_type(outcome: SymbolicValue, type_: Type) -> SymbolicValue:
    """Return the value with a bare NULL converted to the sort of a float, if the type is floating."""
    value = z3.ToReal(outcome.value) if type_.floating and z3.is_int(outcome.value) else outcome.value
    return SymbolicValue(
        raises=outcome.raises, null=outcome.null, nan=outcome.nan, value=value, sign=outcome.sign
    )


def _with_raises(outcome: SymbolicValue, raises: Term) -> SymbolicValue:
    return SymbolicValue(
        raises=raises, null=outcome.null, nan=outcome.nan, value=outcome.value, sign=outcome.sign
    )


def _arithmetic(meaning: Meaning, node: Any) -> SymbolicValue:
    operands = (meaning.of(node.left), meaning.of(node.right))
    types = (type_of(node.left), type_of(node.right))
    return arithmetic(meaning.real_functions, node.operator, operands, types, node.type, node.mode)


def _item(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return some element of the array on the row, or NULL."""
    assert meaning.element is not None
    if node not in meaning.opaque_outcomes:
        element, missing = meaning.element(node.operands[0]), z3.Bool(meaning.fresh("no item"))
        null, nan = z3.Or(missing, element.null), z3.And(element.nan, z3.Not(missing))
        meaning.opaque_outcomes[node] = replace(element, null=null, nan=nan)
    return meaning.opaque_outcomes[node]


def _map_value(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return some value of the map on the row where some key equals the one that is sought, or NULL."""
    assert meaning.element is not None
    if node not in meaning.opaque_outcomes:
        _, keys, sought = node.operands
        held, key, outcome = meaning.element(keys), meaning.of(sought), _item(meaning, node)
        equal = z3.And(z3.Not(held.null), z3.Not(key.null), _equal(held, key))
        meaning.assumptions.append(z3.Or(outcome.null, equal))
        meaning.opaque_outcomes[node] = replace(outcome, raises=z3.Or(outcome.raises, key.raises))
    return meaning.opaque_outcomes[node]


def _call(meaning: Meaning, node: Any) -> SymbolicValue:
    if node.function is Function.MAP_VALUE:
        return _map_value(meaning, node)
    if node.function in ARRAY_FUNCTIONS:
        return _item(meaning, node)
    if node.function in _UNKNOWN:
        return _unknown_call(meaning, node)
    extreme = node.function in (Function.GREATEST, Function.LEAST)
    rounds = node.function in _ROUNDING and len(node.operands) > 1
    numbers = node.operands[:1] if rounds else node.operands
    operands = [meaning.of(operand) for operand in numbers]
    if extreme:
        operands = [_as_type(operand, node.type) for operand in operands]
    return call(
        meaning.real_functions,
        node.function,
        operands,
        type_of(node.operands[0]),
        node.type,
        node.mode,
        digits=_digits(node.operands[1]) if rounds else 0,
        either=z3.Bool(meaning.fresh("either")),
    )


def _unknown_call(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return any value for a function of text or time: equal for equal calls, NULL if an operand is."""
    operands = [meaning.of(operand) for operand in node.operands]
    if node not in meaning.opaque_outcomes:
        meaning.opaque_outcomes[node] = _opaque(meaning, node)
        result = meaning.opaque_outcomes[node]
        some_null = z3.Or(*(operand.null for operand in operands))
        strict = node.function in TEXT_FUNCTIONS
        meaning.assumptions.append(result.null == some_null if strict else z3.Implies(some_null, result.null))
        meaning.assumptions += texts.call_axioms(node, result, operands, meaning.ideals.place)
    return _with_raises(meaning.opaque_outcomes[node], z3.Or(*(operand.raises for operand in operands)))


def _unknown_match(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return any truth value for a predicate on a text; NULL of NULL."""
    operand = meaning.of(node.operand)
    if node not in meaning.opaque_outcomes:
        matches = z3.Bool(meaning.fresh("matches"))
        meaning.opaque_outcomes[node] = _truth_value(operand.null, matches, raises=operand.raises)
    return meaning.opaque_outcomes[node]


def _digits(operand: Expression) -> int:
    if not isinstance(operand, trees.Literal) or operand.value is None:
        raise NoSecondOpinion("a number of digits that is no literal has no symbolic meaning")
    return int(operand.value)


def _cast(meaning: Meaning, node: Any) -> SymbolicValue:
    operand, source, target = meaning.of(node.operand), type_of(node.operand), node.type
    if are_numbers(source, target):
        either = z3.Bool(meaning.fresh("either"))
        return cast(meaning.real_functions, operand, source, target, node.mode, either=either)
    if source == target or target.kind in BYTES:
        return operand
    exact = operand.value
    if source.kind is Kind.DATE:
        exact = exact * _MICROS_PER_DAY
    if source.kind is not target.kind and Kind.TIMESTAMP in (source.kind, target.kind):
        exact = exact + _offset(meaning)
    mode = Mode.ANSI if source.kind is Kind.DATE else node.mode
    return fit(exact, target, mode, null=operand.null, raises=operand.raises)


def _offset(meaning: Meaning) -> Term:
    """Return an offset between an instant and its local time, bounded by axiom ZONE."""
    offset = z3.Int(meaning.fresh("zone offset"))
    meaning.assumptions += [offset >= -_ZONE_MICROS_MAX, offset <= _ZONE_MICROS_MAX]
    return offset


def _opaque(meaning: Meaning, node: Any) -> SymbolicValue:
    """Return a value of which nothing is known."""
    name = meaning.fresh("opaque")
    floating = node.type.floating
    value = z3.Real(name) if floating else z3.Int(name)
    sign = z3.Int(f"{name} sign") if floating else ZERO
    if floating:
        meaning.assumptions += [sign >= -1, sign <= 1]
    if node.type == BOOLEAN:
        meaning.assumptions += [value >= 0, value <= 1]
    nan = z3.Bool(f"{name} nan") if floating else NO
    null = YES if node.type == NULL else z3.Bool(f"{name} null")
    return SymbolicValue(raises=NO, null=null, nan=nan, value=value, sign=sign)


_MEANINGS: Mapping[type, Callable[[Meaning, Any], SymbolicValue]] = {
    trees.Column: _column,
    trees.Element: _column,
    trees.Quantified: _quantifier,
    trees.Literal: _literal,
    trees.Compare: _compare,
    trees.And: _and,
    trees.Or: _or,
    trees.Not: _not,
    trees.IsNull: _is_null,
    trees.In: _in,
    trees.StartsWith: _starts_with,
    trees.EndsWith: _unknown_match,
    trees.Contains: _unknown_match,
    trees.RLike: _unknown_match,
    trees.Like: _like,
    trees.Case: _case,
    trees.Coalesce: _coalesce,
    trees.Arithmetic: _arithmetic,
    trees.Call: _call,
    trees.Cast: _cast,
    trees.Opaque: _opaque,
}
