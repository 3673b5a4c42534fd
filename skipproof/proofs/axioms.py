"""The axioms that proofs assume, and which of them one proof assumes.

`docs/reference/properties.md` names the test of each.
"""

from collections.abc import Iterator, Mapping

from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Contains,
    EndsWith,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    RLike,
    StartsWith,
    type_of,
)
from pruning.expressions.types import FLOAT, Kind
from pruning.rules.interpreters.solver import products
from pruning.rules.interpreters.solver.theory import LOGARITHMS, Theory
from pruning.rules.time.steps import Action, Envelope
from skipproof.proofs.prover import Proof

AXIOMS: Mapping[str, str] = {
    "PREFIX": "a byte string s has the prefix p if and only if p <= s < end(p)",
    "ORDER": "UTF-8 keeps the order of code points, so strings and binaries share one total order",
    "SUCCESSOR": "nothing lies between a byte string s and s followed by 0x00",
    "ROUNDING": "rounding to nearest is monotone, so is float addition",
    "PRODUCT": "x <= y gives x * z <= y * z where z >= 0, and the opposite where z <= 0",
    "QUOTIENT": "quotients of magnitudes rise with the dividend and fall with the divisor; "
    "a remainder is below the divisor and not above the dividend",
    "KEPT": "rounding keeps what is a float already",
    "SMALLEST": "no float lies nearer to zero than the smallest",
    "MONOTONE": "the functions of one number that never decrease do not; "
    "a power of a positive base is monotone in the base and in the exponent",
    "LIBM": "Spark's and numpy's values of an elementary function both lie within 2**-50 of the true one",
    "POSITIVE": "exponentials, square roots and powers of numbers that are not negative are not negative",
    "TEXT": "the text of a double lies between the points halfway to its neighbours",
    "NEIGHBOURS": "no float lies between two adjacent ones",
    "SETS": "a text predicate that takes a truth value has its operand in the set that the rule gives for it",
    "PREIMAGE": "where a function's value is in a set, its operand's is in the preimage that the rule gives",
    "PART": "a string lies in a part, of those into which the languages cut all strings, that is not empty",
    "MEMBER": "what an automaton says of a named string is true",
    "MEETS": "what an automaton says of a range between named strings is true",
    "START": "a start of a string is at most the string",
    "ZONES": "the least local time from an instant on and the greatest up to it enclose each "
    "and never decrease",
    "CYCLE": "a field of a date or a time increases within its cycle",
    "NEXT": "no number whose field is wanted lies between one and the next such",
    "MONTHS": "months_between is whole months, or adds the days between local dates and what has passed of "
    "them, less than 60 hours each, as parts of 31 days",
    "ZONE": "an instant and its local time differ by at most 18 hours",
}

_TEXT_PREDICATES = (Like, RLike, EndsWith, Contains)
_STARTS = frozenset({Function.RTRIM, Function.SUBSTRING, Function.CONCAT})
_POSITIVE = frozenset(function.value for function in (Function.EXP, Function.SQRT, Function.POWER))
_EXACT_NODES = (And, Arithmetic, Case, Coalesce, Column, Compare, In, IsNull, Literal, Not, Or)
_EXACT_FUNCTIONS = frozenset(
    {Function.GREATEST, Function.LEAST, Function.ABS, Function.NEGATE, Function.SIGN}
)
# Theorems of arithmetic, which any true witness satisfies.
_THEOREMS = frozenset({"PRODUCT", "QUOTIENT"})


def assumed_axioms(proof: Proof) -> tuple[str, ...]:
    """Return the names of the axioms that a proof assumes, in the order of `AXIOMS`."""
    preimages = proof.statement().preimages
    theory = proof.solver.theory
    names = {*_of_numbers(theory), *_of_texts(theory), *_of_times(theory), *_of_nodes(proof.expression)}
    if preimages:
        names.add("PREIMAGE")
    return tuple(name for name in AXIOMS if name in names)


def is_exact(proof: Proof) -> bool:
    """Tell whether every witness is a row: nothing in the proof is known by its axioms alone."""
    if not _THEOREMS.issuperset(assumed_axioms(proof)):
        return False
    return all(map(_is_exact, walk(proof.expression)))


def rounds_to_two_widths(expression: Expression) -> bool:
    """Tell whether parts are rounded to float and others to double; a proof takes both for one function."""
    return len(set(map(type_of, filter(_is_rounded, walk(expression))))) > 1


def _is_rounded(node: Expression) -> bool:
    if not isinstance(node, Arithmetic | Call | Cast) or not node.type.floating:
        return False
    # A float is a double already.
    return not (isinstance(node, Cast) and type_of(node.operand) in (FLOAT, node.type))


def _is_exact(node: Expression) -> bool:
    if isinstance(node, Call):
        return node.function in _EXACT_FUNCTIONS
    return isinstance(node, _EXACT_NODES) and type_of(node).has_bounds


def _of_numbers(theory: Theory) -> Iterator[str]:
    if theory.rounding.arguments:
        yield "ROUNDING"
    operations = set(theory.monotony.pairs)
    if products.product in operations:
        yield "PRODUCT"
    if operations - {products.product}:
        yield "QUOTIENT"
    if operations & {products.ratio, products.rest}:
        yield from ("KEPT", "SMALLEST")
    if theory.rounding.keeps_integers:
        yield "KEPT"
    functions = set(theory.functions.points)
    if functions:
        yield "MONOTONE"
    if any(name.startswith("half ") for name in functions):
        yield "TEXT"
    elif theory.functions.enclosures:
        yield "LIBM"
    if functions & _POSITIVE:
        yield "POSITIVE"
    if theory.narrows or functions & LOGARITHMS:
        yield "NEIGHBOURS"


def _of_texts(theory: Theory) -> Iterator[str]:
    places = theory.ordering.places
    if len(places) > 1:
        yield "ORDER"
    if any(text + b"\0" in places for text in places):
        yield "SUCCESSOR"
    if theory.languages.predicates:
        yield from ("PART", "MEMBER")
    if theory.languages.meetings:
        yield "MEETS"


def _of_times(theory: Theory) -> Iterator[str]:
    steps = list(theory.times.points)
    if steps:
        yield "MONOTONE"
    if any(bend is not Envelope.HERE for _, bend in steps):
        yield "ZONES"
    actions = {step.action for step, _ in steps}
    if Action.FIELD in actions:
        yield "CYCLE"
    if actions & {Action.NEXT, Action.PREVIOUS}:
        yield "NEXT"


def _of_nodes(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, StartsWith | Like) or _begins_with_text(node):
            yield "PREFIX"
        if isinstance(node, _TEXT_PREDICATES):
            yield "SETS"
        if isinstance(node, Call) and node.function in _STARTS:
            yield "START"
        if isinstance(node, Call) and node.function is Function.MONTHS_BETWEEN:
            yield "MONTHS"
        if isinstance(node, Cast) and not node.zone and _crosses_zones(node):
            yield "ZONE"


def _begins_with_text(node: Expression) -> bool:
    return (
        isinstance(node, Call) and node.function is Function.CONCAT and isinstance(node.operands[0], Literal)
    )


def _crosses_zones(node: Cast) -> bool:
    kinds = {type_of(node.operand).kind, node.type.kind}
    return Kind.TIMESTAMP in kinds and bool(kinds & {Kind.DATE, Kind.TIMESTAMP_NTZ})
