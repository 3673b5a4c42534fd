"""TEXT-3: predicates of text on whole blocks: what the bounds leave possible, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_meanings import like, rpad, substring

from pruning.expressions.trees import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Contains,
    EndsWith,
    Expression,
    Function,
    In,
    Like,
    Literal,
    Not,
    RLike,
    StartsWith,
)
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input

S, T = Column("s", STRING), Column("t", STRING)
SKIPPED, SOME, ALL = "no row is TRUE", "either", "no row is FALSE"


def text(value: str) -> Literal:
    return Literal(value.encode(), STRING)


def number(value: int) -> Literal:
    return Literal(value, INTEGER)


def call(function: Function, *operands: Expression) -> Call:
    return Call(function, operands, INTEGER if function is Function.LENGTH else STRING)


def equal(left: Expression, right: Expression) -> Compare:
    return Compare(Comparison.EQUAL, left, right)


def flags(
    predicate: Expression, bounds: Mapping[str, tuple[bytes | None, bytes | None]]
) -> tuple[object, ...]:
    """May be TRUE, may be FALSE, may be NULL, in a block without NULL."""
    program = analyse(predicate, RULES)
    return exact.run(program, {input_: _cell(input_, bounds) for input_ in program.inputs})


def _cell(input_: Input, bounds: Mapping[str, tuple[bytes | None, bytes | None]]) -> object:
    match input_.aspect:
        case Aspect.LOWER:
            return bounds[input_.column][0]
        case Aspect.UPPER:
            return bounds[input_.column][1]
        case aspect:
            return aspect in (Aspect.HAS_ROWS, Aspect.MAY_VALUE)


def verdict(predicate: Expression, lower: str, upper: str) -> str:
    true, false, null = flags(predicate, {"s": (lower.encode(), upper.encode())})
    assert null is False
    return SKIPPED if not true else SOME if false else ALL


UPPER, TRIM, LEFT = (
    call(Function.UPPER, S),
    call(Function.TRIM, S),
    call(Function.SUBSTRING, S, number(1), number(2)),
)
CHAR = call(Function.RPAD, S, number(4), text(" "))
#  predicate                                          lower    upper     what the bounds leave
CASES = [
    (Like(S, b"a%z"), "ab", "ay", SOME),
    (Like(S, b"a%z"), "b", "c", SKIPPED),  # another first letter
    (Like(S, b"%z"), "abc", "abc", SKIPPED),  # one value, that does not match
    (Like(S, b"%c"), "abc", "abc", ALL),
    (Like(S, b"a_"), "aa\U0010ffff", "ab", SOME),  # "ab" itself
    (Like(S, b"a_"), "aa", "aa~", SOME),
    (Like(S, b"a_"), "aa\0", "aa~", SKIPPED),  # all are longer
    (Not(Like(S, b"a_%")), "ab", "az", ALL),  # the bounds share what must match... and more must follow
    (Like(S, b"a_%"), "ab", "az", ALL),
    (Not(Like(S, b"%a%")), "ba", "ba~", SKIPPED),  # each has "ba" before it
    (Like(S, b"%a%"), "ba", "ba~", ALL),
    (Like(S, b"100\\%%"), "100", "100$", SKIPPED),
    (Like(S, b"a%"), "a", "a\U0010ffff", ALL),
    (RLike(S, b"^[0-9]+$"), "a", "z", SKIPPED),
    (RLike(S, b"^[0-9]"), "0", "9zzz", ALL),
    (RLike(S, b"b"), "ab", "ab~", ALL),
    (RLike(S, b"^ab(?=c)"), "ac", "ad", SKIPPED),  # known by its start alone
    (RLike(S, b"^ab(?=c)"), "aba", "abz", SOME),
    (Contains(S, b"b"), "ab", "ab~", ALL),
    (EndsWith(S, b"b"), "ab\0", "ab\x01", SOME),  # "ab\0b"
    (StartsWith(S, b"ab"), "ab", "ab\U0010ffff", ALL),
    (equal(UPPER, text("PARIS")), "PARIS", "PARIS", ALL),
    (equal(UPPER, text("PARIS")), "Paris", "paris", SOME),
    (equal(UPPER, text("PARIS")), "q", "z", SKIPPED),
    (equal(UPPER, text("paris")), "A", "z", SKIPPED),  # no upper case is lower
    (Like(call(Function.LOWER, S), b"par%"), "PB", "PZ", SKIPPED),  # ILIKE 'par%'
    (Like(call(Function.LOWER, S), b"par%"), "PAR", "PARZ", ALL),
    (equal(TRIM, text("a")), "a", "a    ", SOME),
    (equal(TRIM, text("a")), "a ", "a ", ALL),
    (equal(TRIM, text("a ")), "", "z", SKIPPED),  # no trimmed text ends in a space
    (equal(LEFT, text("ab")), "ab", "ab\U0010ffff", ALL),
    (equal(LEFT, text("ab")), "ac", "b", SKIPPED),
    (equal(LEFT, text("abc")), "", "z", SKIPPED),  # too long
    (equal(call(Function.SUBSTRING, S, number(2), number(1)), text("x")), "ax", "ax~", ALL),
    (equal(call(Function.SUBSTRING, S, number(-1), number(1)), text("x")), "ay", "ay", SKIPPED),
    (equal(call(Function.CONCAT, text("x-"), S), text("x-a")), "b", "c", SKIPPED),
    (equal(call(Function.CONCAT, text("x-"), S), text("y")), "", "z", SKIPPED),
    (equal(call(Function.CONCAT, S, text("!")), text("a!")), "a", "a", ALL),
    (In(call(Function.LENGTH, S), (number(0), number(3))), "abc", "abc", ALL),
    (Compare(Comparison.LESS, call(Function.LENGTH, S), number(0)), "", "z", SKIPPED),
    (equal(CHAR, text("ab  ")), "ab", "ab  ", SOME),  # stored with its padding, or without, or in between
    (equal(CHAR, text("ab  ")), "ab  ", "ab  ", ALL),
    (equal(CHAR, text("ab")), "", "z", SKIPPED),  # padded texts are not that short
    (equal(call(Function.UPPER, TRIM), text("A")), " a", " a", ALL),
    (equal(call(Function.UPPER, TRIM), text("A")), "b", "c", SKIPPED),
    (And((StartsWith(S, b"a"), EndsWith(S, b"z"))), "ab", "ab", SKIPPED),
    (And((Like(S, b"a%"), Compare(Comparison.LESS, S, text("b")))), "a", "azz", ALL),
]  # fmt: skip
CASES[7] = (Not(Like(S, b"a_%")), "ab", "az", SKIPPED)


@pytest.mark.parametrize(("predicate", "lower", "upper", "expected"), CASES)
def test_the_bounds_decide(predicate: Expression, lower: str, upper: str, expected: str) -> None:
    assert verdict(predicate, lower, upper) == expected


# A writer cuts a greatest value and raises the last character that it can; the bounds are only wider.
@pytest.mark.parametrize(
    ("value", "upper"),
    [
        ("ab" + "c" * 20, "abd"),
        ("ab\ud7ff" + "c" * 20, "ab\ue000"),  # no character lies between
        ("ab\U0010ffff" + "c" * 20, "ac"),  # none is above: the one before is raised
        ("\U0010ffff\U0010ffff", None),  # nor is one before
        ("ab\x7f~", "ab\x80"),
    ],
)
@pytest.mark.parametrize("last", ["c", "\ud7ff", "\U0010ffff", "~"])
def test_a_bound_that_was_cut_loses_nothing(value: str, upper: str | None, last: str) -> None:
    bounds = {"s": (b"ab" if value[0] == "a" else b"", None if upper is None else upper.encode())}
    for predicate, holds in (
        (Like(S, f"%{last}".encode()), value.endswith(last)),
        (EndsWith(S, last.encode()), value.endswith(last)),
        (Like(S, f"ab{last}%".encode()), value.startswith(f"ab{last}")),
        (equal(call(Function.SUBSTRING, S, number(3), number(1)), text(last)), value[2:3] == last),
        (equal(S, text(value)), True),
    ):
        true, false, _ = flags(predicate, bounds)
        assert true or not holds
        assert false or holds


def test_a_prefix_of_the_last_characters_ends_somewhere() -> None:
    """U+D7FF is followed by U+E000, and U+10FFFF by nothing: `LIKE` must not look for what comes next."""
    for prefix in ("a\ud7ff", "a\U0010ffff", "\U0010ffff"):
        predicate = Like(S, prefix.encode() + b"%")
        assert verdict(predicate, prefix, prefix + "zzz") == ALL
        assert verdict(predicate, prefix + "\U0010ffff", prefix + "\U0010ffff\U0010ffff") == ALL
    assert verdict(Like(S, "a\ud7ff%".encode()), "a\ue000", "b") == SKIPPED


LETTERS = "ab é"
TEXTS = st.text(LETTERS, max_size=4)
MEANINGS = {
    call(Function.UPPER, S): lambda s: s.upper(),
    call(Function.LOWER, S): lambda s: s.lower(),
    call(Function.TRIM, S): lambda s: s.strip(" "),
    call(Function.LTRIM, S): lambda s: s.lstrip(" "),
    call(Function.RTRIM, S): lambda s: s.rstrip(" "),
    LEFT: lambda s: substring(s, 1, 2),
    call(Function.SUBSTRING, S, number(-2), number(1)): lambda s: substring(s, -2, 1),
    call(Function.CONCAT, S, text("b")): lambda s: s + "b",
    call(Function.CONCAT, text("b"), S): lambda s: "b" + s,
    call(Function.CONCAT, S, T): None,
    CHAR: lambda s: rpad(s, 4, " "),
}
ORDERS = {
    Comparison.LESS: lambda left, right: left < right,
    Comparison.EQUAL: lambda left, right: left == right,
    Comparison.AT_LEAST: lambda left, right: left >= right,
}


def bounds_of(values: Iterable[str]) -> tuple[bytes, bytes]:
    """The least and the greatest of some texts."""
    ordered = sorted(value.encode() for value in values)
    return ordered[0], ordered[-1]


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4),
    st.sampled_from(list(MEANINGS)),
    st.sampled_from(list(ORDERS)),
    st.none() | TEXTS,
)
def test_no_row_is_lost(
    rows: Sequence[tuple[str, str]], function: Call, operator: Comparison, constant: str | None
) -> None:
    """Of a function compared with a constant, and with another column: by sets, and by ranges."""
    right = T if constant is None else text(constant)
    predicate = Compare(operator, function, right)
    bounds = {"s": bounds_of(s for s, _ in rows), "t": bounds_of(t for _, t in rows)}
    may_be_true, may_be_false, _ = flags(predicate, bounds)
    for s, t in rows:
        meaning = MEANINGS[function]
        result = s + t if meaning is None else meaning(s)
        holds = ORDERS[operator](result.encode(), (t if constant is None else constant).encode())
        assert may_be_true if holds else may_be_false


def test_starts_and_extensions_are_bounded_by_their_operand() -> None:
    """Two columns compared: a start of s is at most s; s and more is at least s."""
    below = {"s": (b"a", b"b"), "t": (b"c", b"d")}
    above = {"s": (b"c", b"d"), "t": (b"a", b"b")}
    assert flags(Compare(Comparison.AT_LEAST, LEFT, T), below)[0] is False
    assert flags(Compare(Comparison.AT_LEAST, call(Function.RTRIM, S), T), below)[0] is False
    assert flags(Compare(Comparison.LESS, call(Function.CONCAT, S, T), T), above)[0] is False
    assert flags(Compare(Comparison.LESS, call(Function.CONCAT, text("x"), S), T), above)[0] is False
    assert (
        flags(
            Compare(Comparison.GREATER, call(Function.CONCAT, text("a"), S, T), T),
            {"s": below["t"], "t": (b"b", b"c")},
        )[0]
        is False
    )


@given(st.lists(TEXTS, min_size=1, max_size=3), st.text("ab%_", max_size=4))
def test_no_row_is_lost_by_a_pattern(rows: Sequence[str], pattern: str) -> None:
    true, false, _ = flags(Like(S, pattern.encode()), {"s": bounds_of(rows)})
    matches = like(pattern, "\\")
    assert true or not any(matches(row.encode()) for row in rows)
    assert false or all(matches(row.encode()) for row in rows)
