"""Functions and patterns of text: the second opinion beside Spark, and where it has none."""

import pytest
from conforming import conformance
from pyspark.sql import SparkSession

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import (
    Call,
    Cast,
    Column,
    Contains,
    EndsWith,
    Expression,
    Function,
    Like,
    Literal,
    RLike,
)
from pruning.expressions.types import INTEGER, STRING

S = Column("s", STRING)
TEXTS = [
    text.encode()
    for text in (
        "", "a", "ab", "abc", "abcabc", "ABC", "aBc1", " a ", "  ", "a\tb", "\ta\t", "xax", "a%b", "a_b",
        "a\\b", "a\n", "a\r\n", "a\u0085", "a\u2028", "\n", "b\na", "stra\u00dfe", "\u0130", "\u0131",
        "\ufb01", "\u1e9e", "\u00e9", "e\u0301", "\ud7ff", "\ue000", "\U00010000", "\U0001f600x",
        "\U0010ffff", "a\U0010ffffb", "0012", "x0", "\0", "a\0b", "\u017f", "\u212a",
    )
]  # fmt: skip


def number(value: int) -> Literal:
    """An int literal."""
    return Literal(value, INTEGER)


def text(value: str) -> Literal:
    """A string literal."""
    return Literal(value.encode(), STRING)


def of_text(function: Function, *more: Expression) -> Call:
    """The function of the column and more operands."""
    return Call(function, (S, *more), INTEGER if function in (Function.LENGTH, Function.INSTR) else STRING)


CALLS = [
    *(of_text(function) for function in (Function.TRIM, Function.LTRIM, Function.RTRIM, Function.LENGTH)),
    *(of_text(function, text("ax")) for function in (Function.TRIM, Function.LTRIM, Function.RTRIM)),
    *(
        of_text(Function.SUBSTRING, number(position), number(length))
        for position in (-9, -3, -1, 0, 1, 2, 3, 9)
        for length in (-1, 0, 1, 2, 20)
    ),
    of_text(Function.CONCAT, text("\u00e9"), S),
    *(
        of_text(Function.LPAD, number(length), text(pad))
        for length, pad in ((4, "xy"), (2, ""), (-1, " "), (7, "\U0001f600"))
    ),
    *(of_text(Function.REPLACE, text(part), text("yy")) for part in ("a", "abc", "", "\u00e9")),
    *(of_text(Function.SUBSTRING_INDEX, text(part), number(n)) for part in ("a", "bc") for n in (1, 2)),
    *(of_text(Function.INSTR, text(part)) for part in ("b", "bc", "x", "\u2028")),
    of_text(Function.RPAD, number(4), text("xy")),
    of_text(Function.RPAD, number(2), text("")),
    of_text(Function.RPAD, number(-1), text(" ")),
    of_text(Function.RPAD, number(7), text("\U0001f600")),
]  # fmt: skip
LIKES = [
    "%",
    "",
    "a%",
    "%a",
    "_",
    "__",
    "a_%",
    "%b%",
    "a\\%b",
    "a\\_b",
    "a\\\\b",
    "%\n",
    "_\n%",
    "%\U0010ffff_",
]
REGULAR = [
    "a", "^a", "a$", "^a$", "b.a", "a.b", "^.$", "^..$", "[a-c]+$", "[^a]", "\\d", "\\s", "\\w$", "^\\W",
    "a|x", "(ab)+c", "(abc){2}", "a?b", "a*$", "^$", "^[ab]{1,2}$", "a\\.b", "a\\\\b", "\u00df", "^\\D+$",
    "a\\%b",
]  # fmt: skip


def test_functions_of_text_agree_with_spark(spark: SparkSession) -> None:
    found = conformance(spark, S, TEXTS, CALLS)
    assert found.different == ()
    assert found.compared == len(TEXTS) * len(CALLS)


def test_texts_of_integers_agree_with_spark(spark: SparkSession) -> None:
    numbers = [0, -1, 7, 10, -10, 2**31 - 1, -(2**31)]
    assert (
        conformance(spark, Column("n", INTEGER), numbers, [Cast(Column("n", INTEGER), STRING)]).different
        == ()
    )


def test_letter_case_agrees_with_spark_all_over_the_basic_plane(spark: SparkSession) -> None:
    """Each character between two letters; on nearly all of them there is an opinion."""
    codes = [*range(0xD800), *range(0xE000, 0x10000), *range(0x10400, 0x10450), 0x1F600]
    values = [f"a{chr(code)}B".encode() for code in codes]
    found = conformance(spark, S, values, [of_text(Function.UPPER), of_text(Function.LOWER)])
    assert found.different == ()
    assert found.compared >= 0.9 * 2 * len(values)


def test_patterns_agree_with_spark(spark: SparkSession) -> None:
    asked: list[Expression] = [Like(S, pattern.encode()) for pattern in LIKES]
    asked += [Like(S, b"a/%b", "/"), Like(S, b"!_!!%", "!")]
    asked += [RLike(S, pattern.encode()) for pattern in REGULAR]
    asked += [Contains(S, b"b"), Contains(S, b""), EndsWith(S, b"b"), EndsWith(S, "\u00df".encode())]
    found = conformance(spark, S, TEXTS, asked)
    assert found.different == ()
    assert found.compared == len(TEXTS) * len(asked)


def test_patterns_agree_with_spark_on_bytes_that_are_not_utf8(spark: SparkSession) -> None:
    """Where what stands before them decides."""
    texts = [b"a\xff", b"a\xed\xa0\x80", b"a\xc3", b"ab\x80%", b"\xc0\x80a", b"a%\xed\x9f\xc0"]
    patterns: list[Expression] = [
        Like(S, pattern) for pattern in (b"a%", b"ab%", b"%", b"b%", b"b_", b"aa", b"")
    ]
    patterns += [Like(S, b"a/%%", "/"), Like(S, "a!%\ud7ff%".encode(), "!")]
    compared = conformance(spark, S, texts, patterns)
    assert compared.different == ()
    assert compared.compared >= 40


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)a",
        "a++",
        "\\bword",
        "[a&&b]",
        "[a[b]]",
        "\\p{L}",
        "(a)\\1",
        "a{",
        "\\Qa\\E",
        "(?=a)",
        "a{2}+",
        "[z-a]",
    ],
)
def test_expressions_that_java_and_python_may_read_in_two_ways_have_no_opinion(pattern: str) -> None:
    with pytest.raises(NoSecondOpinion):
        evaluate(RLike(S, pattern.encode()), {"s": b"a"})


@pytest.mark.parametrize("letter", ["\u03a3", "\u019b", "\u10d0", "\u1c90"])
def test_letters_whose_case_is_not_settled_have_no_opinion(letter: str) -> None:
    functions = (Function.UPPER, Function.LOWER)
    with pytest.raises(NoSecondOpinion):
        [evaluate(of_text(function), {"s": letter.encode()}) for function in functions]


@pytest.mark.parametrize("pattern", [b"a\\", b"\\a"])
def test_patterns_that_spark_refuses_have_no_opinion(pattern: bytes) -> None:
    with pytest.raises(NoSecondOpinion, match="refuses"):
        evaluate(Like(S, pattern), {"s": b"a"})


def test_functions_of_null_are_null() -> None:
    assert evaluate(of_text(Function.UPPER), {"s": None}) is None
    assert evaluate(Contains(S, b"a"), {"s": None}) is None
