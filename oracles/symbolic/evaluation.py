"""SQL's meaning of an expression on one symbolic row, as Z3 terms: the judge of proofs.

Shares   the expression trees; no rule, no range, no program.
Trusts   Z3, and the axioms named below.
Removes  block metadata: a row is a row, whatever a footer says of it.
Leaves   the representation of values (see `Ideals`): float rounding is any monotone function, and
         byte strings are places in a total order.

Axioms: PREFIX - a byte string s has the prefix p if and only if p <= s < end(p), where end(p) is p
with its last byte below 0xFF incremented and what follows cut off. ZONE - an instant and its local
time differ by at most 18 hours. ROUNDING - rounding to nearest is monotone. MONOTONE, TEXT and
POSITIVE - see `oracles.symbolic.functions`; START - see `oracles.symbolic.texts`.
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
from oracles.symbolic.casts import among_numbers, cast
from oracles.symbolic.functions import axioms, call
from oracles.symbolic.ideals import NO, YES, ZERO, Ideals, Outcome, Term, choose, fitted, less
from pruning.expressions import trees
from pruning.expressions.function_groups import TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Comparison, Element, Expression, Function, Mode, Quantifier, type_of
from pruning.expressions.types import BOOLEAN, BYTES, NULL, Kind, Type, Value

__all__ = ["Ideals", "Meaning", "Outcome", "Term"]

_MICROS_PER_DAY = 24 * 60 * 60 * 1_000_000
_ZONE_MICROS_MAX = 18 * 60 * 60 * 1_000_000
_UNKNOWN = TEXT_FUNCTIONS | TIME_FUNCTIONS
_ROUNDING = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})


def _answer(null: Term, true: Term, *, raises: Term = NO) -> Outcome:
    return Outcome(raises=raises, null=null, nan=NO, value=z3.If(true, 1, 0), sign=ZERO)


@dataclass(slots=True)
class Meaning:
    """Evaluates expressions on the row `columns`; `assumptions` collects what the axioms add.

    `element` makes some element of some array of the block, each time another one; `known` is what
    was said of parts that nothing is known of, so that equal ones are one; `times` may know functions
    of time, by steps that the proof has axioms of.
    """

    columns: Mapping[str, Outcome]
    ideals: Ideals
    element: Callable[[Element], Outcome] | None = None
    times: "Callable[[Meaning, Expression], Outcome | None] | None" = None
    assumptions: list[Term] = field(default_factory=list)
    known: dict[Expression, Outcome] = field(default_factory=dict)
    _fresh: int = 0
    _applied: dict[str, list[tuple[Term, Term]]] = field(default_factory=dict)

    def of(self, node: Expression) -> Outcome:
        """The expression's outcome on the row."""
        found = None if self.times is None else self.times(self, node)
        return _MEANINGS[type(node)](self, node) if found is None else found

    @property
    def real_functions(self) -> Ideals:
        """The ideals, but assuming the axioms of each function that is applied."""
        return replace(self.ideals, apply=self._apply)

    def _apply(self, name: str, arguments: list[Term]) -> Term:
        result = self.ideals.apply(name, arguments)
        earlier = self._applied.setdefault(name, [])
        self.assumptions += axioms(name, arguments, result, earlier)
        earlier.append((arguments[0], result))
        return result

    def fresh(self, name: str) -> str:
        """A name no other variable has."""
        self._fresh += 1
        return f"{name} {self._fresh}"


def _column(meaning: Meaning, node: Any) -> Outcome:
    return meaning.columns[node.name]


def _literal(meaning: Meaning, node: Any) -> Outcome:
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
    return Outcome(raises=NO, null=z3.BoolVal(value is None), nan=z3.BoolVal(nan), value=term, sign=sign)


def _compare(meaning: Meaning, node: Any) -> Outcome:
    left, right = meaning.of(node.left), meaning.of(node.right)
    raises, null = z3.Or(left.raises, right.raises), z3.Or(left.null, right.null)
    below, equal = less(left, right), _equal(left, right)
    match node.operator:
        case Comparison.NULL_SAFE_EQUAL:
            both = z3.And(left.null, right.null)
            return _answer(NO, z3.Or(both, z3.And(z3.Not(null), equal)), raises=raises)
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
    return _answer(null, true, raises=raises)


def _equal(left: Outcome, right: Outcome) -> Term:
    numbers = z3.And(left.sign == right.sign, z3.Or(left.sign != 0, left.value == right.value))
    return z3.Or(z3.And(left.nan, right.nan), z3.And(z3.Not(left.nan), z3.Not(right.nan), numbers))


def _and(meaning: Meaning, node: Any) -> Outcome:
    return _connective([meaning.of(operand) for operand in node.operands])


def _or(meaning: Meaning, node: Any) -> Outcome:
    return _negate(_connective([_negate(meaning.of(operand)) for operand in node.operands]))


def _connective(operands: list[Outcome]) -> Outcome:
    """FALSE where some operand is, in whatever order they run; else one that raises raises."""
    false = z3.Or(*(z3.And(z3.Not(operand.raises), operand.false) for operand in operands))
    raises = z3.And(z3.Not(false), z3.Or(*(operand.raises for operand in operands)))
    null = z3.And(z3.Not(false), z3.Or(*(operand.null for operand in operands)))
    return _answer(null, z3.Not(false), raises=raises)


def _not(meaning: Meaning, node: Any) -> Outcome:
    return _negate(meaning.of(node.operand))


def _negate(operand: Outcome) -> Outcome:
    return _answer(operand.null, operand.value == 0, raises=operand.raises)


def _is_null(meaning: Meaning, node: Any) -> Outcome:
    operand = meaning.of(node.operand)
    return _answer(NO, operand.null, raises=operand.raises)


def _in(meaning: Meaning, node: Any) -> Outcome:
    operand = meaning.of(node.operand)
    members = [meaning.of(member) for member in node.members]
    found = z3.Or(
        *(z3.And(z3.Not(operand.null), z3.Not(member.null), _equal(operand, member)) for member in members)
    )
    unsure = z3.Or(operand.null, *(member.null for member in members))
    raises = z3.Or(operand.raises, *(member.raises for member in members))
    return _answer(z3.And(z3.Not(found), unsure), found, raises=raises)


def _starts_with(meaning: Meaning, node: Any) -> Outcome:
    operand = meaning.of(node.operand)
    return _answer(operand.null, _has_prefix(meaning, operand, node.prefix), raises=operand.raises)


def _has_prefix(meaning: Meaning, operand: Outcome, prefix: bytes) -> Term:
    """Axiom PREFIX."""
    stem = prefix.rstrip(b"\xff")
    below = YES
    if stem:
        below = operand.value < meaning.ideals.place(stem[:-1] + bytes([stem[-1] + 1]))
    return z3.And(meaning.ideals.place(prefix) <= operand.value, below)


def _quantified(meaning: Meaning, node: Any) -> Outcome:
    """EXISTS is TRUE, and FORALL FALSE, only if the body is of some element; all else is left open."""
    assert meaning.element is not None
    elements = {part.name: part for part in walk(node.body) if isinstance(part, Element)}
    witness = {name: meaning.element(part) for name, part in elements.items()}
    inside = replace(meaning, columns={**meaning.columns, **witness}, assumptions=[], known={})
    body = inside.of(node.body)
    null, true = (z3.Bool(meaning.fresh(name)) for name in ("quantified is NULL", "quantified is TRUE"))
    exists = node.quantifier is Quantifier.EXISTS
    decided, by_element = (true, body.true) if exists else (z3.Not(true), body.false)
    meaning.assumptions += [*inside.assumptions, z3.Implies(z3.And(z3.Not(null), decided), by_element)]
    return _answer(null, true)


def _like(meaning: Meaning, node: Any) -> Outcome:
    """Some set of strings, all of them with the pattern's literal prefix; all, if only `%` follows."""
    outcome = _unknown_match(meaning, node)
    operand = meaning.of(node.operand)
    text, rest = _before_wildcard(node.pattern.decode("utf-8", errors="replace"), node.escape)
    matches, has_prefix = outcome.value == 1, _has_prefix(meaning, operand, text.encode())
    only_anything = bool(rest) and set(rest) == {"%"}
    meaning.assumptions.append(matches == has_prefix if only_anything else z3.Implies(matches, has_prefix))
    return outcome


def _before_wildcard(pattern: str, escape: str) -> tuple[str, str]:
    """The literal text before the first wildcard, or before a character that stands for lost bytes."""
    literal = ""
    rest = pattern
    while rest and rest[0] not in "%_\ufffd":
        taken = rest[1:2] if rest[0] == escape else rest[0]
        rest = rest[2:] if rest[0] == escape else rest[1:]
        literal += taken
    return literal, rest


def _case(meaning: Meaning, node: Any) -> Outcome:
    result = _alternative(meaning.of(node.otherwise), type_of(node))
    for condition, value in reversed(node.branches):
        tested = meaning.of(condition)
        result = choose(tested.true, _alternative(meaning.of(value), type_of(node)), result)
        result = _with_raises(result, z3.Or(tested.raises, result.raises))
    return result


def _coalesce(meaning: Meaning, node: Any) -> Outcome:
    *firsts, last = (_alternative(meaning.of(operand), type_of(node)) for operand in node.operands)
    result = last
    for operand in reversed(firsts):
        result = choose(z3.Not(operand.null), operand, result)
        result = _with_raises(result, z3.Or(operand.raises, result.raises))
    return result


def _alternative(outcome: Outcome, type_: Type) -> Outcome:
    """A bare NULL among floats is made of the sort of a float."""
    value = z3.ToReal(outcome.value) if type_.floating and z3.is_int(outcome.value) else outcome.value
    return Outcome(raises=outcome.raises, null=outcome.null, nan=outcome.nan, value=value, sign=outcome.sign)


def _with_raises(outcome: Outcome, raises: Term) -> Outcome:
    return Outcome(raises=raises, null=outcome.null, nan=outcome.nan, value=outcome.value, sign=outcome.sign)


def _arithmetic(meaning: Meaning, node: Any) -> Outcome:
    operands = (meaning.of(node.left), meaning.of(node.right))
    types = (type_of(node.left), type_of(node.right))
    return arithmetic(meaning.real_functions, node.operator, operands, types, node.type, node.mode)


def _call(meaning: Meaning, node: Any) -> Outcome:
    if node.function in _UNKNOWN:
        return _unknown_call(meaning, node)
    extreme = node.function in (Function.GREATEST, Function.LEAST)
    rounds = node.function in _ROUNDING and len(node.operands) > 1
    numbers = node.operands[:1] if rounds else node.operands
    operands = [meaning.of(operand) for operand in numbers]
    if extreme:
        operands = [_alternative(operand, node.type) for operand in operands]
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


def _unknown_call(meaning: Meaning, node: Any) -> Outcome:
    """A function of text or time: of one value on a row, NULL where an operand is; of text, only there."""
    operands = [meaning.of(operand) for operand in node.operands]
    if node not in meaning.known:
        meaning.known[node] = _opaque(meaning, node)
        result = meaning.known[node]
        some_null = z3.Or(*(operand.null for operand in operands))
        strict = node.function in TEXT_FUNCTIONS
        meaning.assumptions.append(result.null == some_null if strict else z3.Implies(some_null, result.null))
        meaning.assumptions += texts.facts(node, result, operands, meaning.ideals.place)
    return _with_raises(meaning.known[node], z3.Or(*(operand.raises for operand in operands)))


def _unknown_match(meaning: Meaning, node: Any) -> Outcome:
    """A predicate on a text: TRUE or FALSE of each, and NULL of NULL."""
    operand = meaning.of(node.operand)
    if node not in meaning.known:
        matches = z3.Bool(meaning.fresh("matches"))
        meaning.known[node] = _answer(operand.null, matches, raises=operand.raises)
    return meaning.known[node]


def _digits(operand: Expression) -> int:
    if not isinstance(operand, trees.Literal) or operand.value is None:
        raise NoSecondOpinion("a number of digits that is no literal has no symbolic meaning")
    return int(operand.value)


def _cast(meaning: Meaning, node: Any) -> Outcome:
    operand, source, target = meaning.of(node.operand), type_of(node.operand), node.type
    if among_numbers(source, target):
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
    return fitted(exact, target, mode, null=operand.null, raises=operand.raises)


def _offset(meaning: Meaning) -> Term:
    """Axiom ZONE: what lies between an instant and its local time."""
    offset = z3.Int(meaning.fresh("zone offset"))
    meaning.assumptions += [offset >= -_ZONE_MICROS_MAX, offset <= _ZONE_MICROS_MAX]
    return offset


def _opaque(meaning: Meaning, node: Any) -> Outcome:
    """Anything at all."""
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
    return Outcome(raises=NO, null=null, nan=nan, value=value, sign=sign)


_MEANINGS: Mapping[type, Callable[[Meaning, Any], Outcome]] = {
    trees.Column: _column,
    trees.Element: _column,
    trees.Quantified: _quantified,
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
