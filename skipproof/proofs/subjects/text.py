"""The expressions whose proofs are those of the rules of text."""

from pruning.expressions.trees import (
    And,
    Call,
    Column,
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
from pruning.expressions.types import BINARY, INTEGER, STRING, Type
from skipproof.proofs.subjects.parts import S, equal, less, literal

T = Column("t", STRING)


def text(value: bytes | None) -> Literal:
    """A string literal."""
    return Literal(value, STRING)


def _patterns() -> dict[str, Expression]:
    return {
        "startswith": StartsWith(S, b"ab"),
        "startswith nothing": StartsWith(S, b""),
        "startswith 0xFF": StartsWith(Column("s", BINARY), b"a\xff\xff"),
        "startswith only 0xFF": StartsWith(Column("s", BINARY), b"\xff"),
        "LIKE prefix": Like(S, b"N0%"),
        "LIKE prefix and more": Like(S, b"N0%x"),
        "LIKE with escapes": Like(S, rb"N\_0\%%"),
        "LIKE one character": Like(S, b"N_"),
        "LIKE without a prefix": Like(S, b"%x"),
        "LIKE text": Like(S, b"abc"),
        "NOT LIKE": Not(Like(S, b"N0%")),
        "two prefixes": And((StartsWith(S, b"ab"), StartsWith(S, b"b"))),
        "two patterns": And((Like(S, b"a%"), Not(Like(S, b"%b")))),
        "endswith": EndsWith(S, b"xy"),
        "endswith nothing": EndsWith(S, b""),
        "contains": Contains(S, b"aba"),
        "RLIKE": RLike(S, b"^a[0-9]+$"),
        "RLIKE anywhere": RLike(S, b"[0-9]x"),
        "RLIKE that is not known": RLike(S, b"^ab(?=c)"),
        "suffix and prefix": And((EndsWith(S, b"b"), StartsWith(S, b"a"), Not(equal(S, text(b"ab"))))),
    }


def call(function: Function, *operands: Expression, type_: Type = STRING) -> Call:
    """A function of text."""
    return Call(function, operands, type_)


def _functions() -> dict[str, Expression]:
    start = call(Function.SUBSTRING, S, literal(1), literal(2))
    return {
        "upper": call(Function.UPPER, S),
        "upper =": equal(call(Function.UPPER, S), text(b"AB")),
        "lower IN": In(call(Function.LOWER, S), (text(b"a"), text(b"k"))),
        "trim =": equal(call(Function.TRIM, S), text(b"a b")),
        "ltrim <": less(call(Function.LTRIM, S), text(b"b")),
        "rtrim": call(Function.RTRIM, S),
        "rtrim of x =": equal(call(Function.RTRIM, S, text(b"x")), text(b"a")),
        "trim of NULL": equal(call(Function.TRIM, S, text(None)), text(b"a")),
        "left": start,
        "left =": equal(start, text(b"ab")),
        "left <": less(start, text(b"b")),
        "left of two": less(start, call(Function.SUBSTRING, T, literal(1), literal(1))),
        "right =": equal(call(Function.SUBSTRING, S, literal(-2), literal(2)), text(b"yz")),
        "concat": call(Function.CONCAT, S, T),
        "concat after a text": call(Function.CONCAT, text(b"a"), S),
        "concat before a text =": equal(call(Function.CONCAT, S, text(b"-1")), text(b"a-1")),
        "length": call(Function.LENGTH, S, type_=INTEGER),
        "length >": less(literal(3), call(Function.LENGTH, S, type_=INTEGER)),
        "rpad": call(Function.RPAD, S, literal(4), text(b" ")),
        "rpad =": equal(call(Function.RPAD, S, literal(4), text(b" ")), text(b"ab  ")),
        "lpad": call(Function.LPAD, S, literal(4), text(b"0")),
        "lpad =": equal(call(Function.LPAD, S, literal(4), text(b"0")), text(b"00ab")),
        "replace =": equal(call(Function.REPLACE, S, text(b"a"), text(b"b")), text(b"bb")),
        "substring_index =": equal(call(Function.SUBSTRING_INDEX, S, text(b"/"), literal(1)), text(b"ab")),
        "instr": call(Function.INSTR, S, text(b"x"), type_=INTEGER),
        "instr =": equal(call(Function.INSTR, S, text(b"x"), type_=INTEGER), literal(2)),
        "NOT upper =": Not(equal(call(Function.UPPER, S), text(b"AB"))),
        "LIKE of lower": Like(call(Function.LOWER, S), b"a%b"),
    }


SUBJECTS: dict[str, dict[str, Expression]] = {"patterns": _patterns(), "text": _functions()}
