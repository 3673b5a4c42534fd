"""Predicates on strings: patterns, functions of text, and comparisons of two string columns."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import (
    Call,
    Cast,
    Compare,
    Comparison,
    Contains,
    EndsWith,
    Expression,
    Function,
    Like,
    Literal,
    RLike,
    StartsWith,
)
from pruning.expressions.types import INTEGER, STRING, Kind
from strategies.base.texts import like_pattern, prefix_pattern, regular_expression
from strategies.choices import choose
from strategies.predicates.sources import Source, cell, comparison, drawn_column, text_in

_PADS = (b" ", b" ", b"0", b"ab")
_REMOVED = (b" 0", b"a", b"x ")


def prefix_like(draw: DrawFn, source: Source) -> Expression:
    """Draw `LIKE 'abc%'` or `startswith` with beginnings of a column's texts."""
    column = drawn_column(draw, source, Kind.STRING)
    text = text_in(draw, source, column)
    if draw(st.booleans()):
        return StartsWith(column, text[: draw(st.integers(0, len(text)))].encode())
    return Like(column, *prefix_pattern(draw, text))


def general_like(draw: DrawFn, source: Source) -> Expression:
    """Draw LIKE with wildcards anywhere, ILIKE as Spark writes it, `contains` or `endswith`."""
    column = drawn_column(draw, source, Kind.STRING)
    text = text_in(draw, source, column)
    shape = choose(draw, ("like", "like", "like", "ilike", "contains", "endswith"))
    if shape == "contains":
        first, last = sorted(draw(st.integers(0, len(text))) for _ in range(2))
        return Contains(column, text[first:last].encode())
    if shape == "endswith":
        return EndsWith(column, text[draw(st.integers(0, len(text))) :].encode())
    if shape == "ilike":
        lowered = "".join(letter.lower() if letter.isascii() else letter for letter in text)
        return Like(Call(Function.LOWER, (column,), STRING), *like_pattern(draw, lowered))
    return Like(column, *like_pattern(draw, text))


def rlike(draw: DrawFn, source: Source) -> Expression:
    """Draw RLIKE with small regular expressions, many of which have a literal beginning."""
    column = drawn_column(draw, source, Kind.STRING)
    return RLike(column, regular_expression(draw, text_in(draw, source, column)))


def text_function(draw: DrawFn, source: Source) -> Expression:
    """Draw a function of a string column, sometimes of another function, against values that it has."""
    column = drawn_column(draw, source, Kind.STRING)
    operand, text = _function_call(draw, column, text_in(draw, source, column))
    if draw(st.integers(0, 3)) == 0:
        operand, text = _function_call(draw, operand, text)
    shape = choose(draw, ("compare", "compare", "compare", "length", "position", "like", "startswith"))
    if shape == "position":
        part = _part(draw, text)
        place = text.find(part) + 1
        call = Call(Function.INSTR, (operand, _text(part.encode())), INTEGER)
        return comparison(draw, call, INTEGER, [place, place + 1, 0])
    if shape == "length":
        length = len(text)
        return comparison(draw, Call(Function.LENGTH, (operand,), INTEGER), INTEGER, [length, length + 1])
    if shape == "like":
        return Like(operand, *like_pattern(draw, text))
    if shape == "startswith":
        return StartsWith(operand, text[: draw(st.integers(0, len(text)))].encode())
    others = [text_in(draw, source, column), text + "a", text[:-1]]
    return comparison(draw, operand, STRING, [text.encode(), *(other.encode() for other in others)])


def integer_text(draw: DrawFn, source: Source) -> Expression:
    """Draw `CAST(n AS STRING)` against texts of a column's integers, patterns, and texts of no integer."""
    column = drawn_column(draw, source, Kind.INTEGER)
    operand, text = Cast(column, STRING), str(cell(draw, source, column, 0))
    if draw(st.booleans()):
        return Like(operand, *like_pattern(draw, text))
    others = (text[:-1], f"0{text}", f"{text}0", f"-{text}", f" {text}")
    return comparison(draw, operand, STRING, [text.encode(), choose(draw, others).encode()])


def two_texts(draw: DrawFn, source: Source) -> Expression:
    """Draw a comparison of functions of two string columns, or of one column twice."""
    first, second = drawn_column(draw, source, Kind.STRING), drawn_column(draw, source, Kind.STRING)
    left: Expression = first
    if draw(st.booleans()):
        left = _function_call(draw, first, text_in(draw, source, first))[0]
    right = _function_call(draw, second, text_in(draw, source, second))[0]
    return Compare(choose(draw, Comparison), left, right)


def _function_call(draw: DrawFn, operand: Expression, text: str) -> tuple[Expression, str]:
    """Draw a function of a text, and compute its result, or nearly."""
    function = choose(draw, _FUNCTIONS)
    if function in _PLAIN:
        return Call(function, (operand,), STRING), _ascii(function, text)
    if function is Function.SUBSTRING:
        return _substring(draw, operand, text)
    if function in (Function.RPAD, Function.LPAD):
        return _pad_call(draw, function, operand, text)
    if function in (Function.REPLACE, Function.SUBSTRING_INDEX):
        return _search_call(draw, function, operand, text)
    if function is Function.CONCAT:
        before, after = choose(draw, (("", "!"), ("x", ""), ("a", "b"), ("", " ")))
        parts = (_text(before.encode()), operand, _text(after.encode()))
        kept = tuple(part for part in parts if not isinstance(part, Literal) or part.value)
        return Call(function, kept, STRING), before + text + after
    removed = choose(draw, _REMOVED)
    return Call(function, (operand, _text(removed)), STRING), text.strip(removed.decode())


def _pad_call(draw: DrawFn, function: Function, operand: Expression, text: str) -> tuple[Expression, str]:
    length, pad = len(text) + draw(st.integers(-1, 3)), choose(draw, _PADS)
    missing = (pad.decode() * 4)[: max(length - len(text), 0)]
    padded = missing + text if function is Function.LPAD else text + missing
    call = Call(function, (operand, Literal(length, INTEGER), _text(pad)), STRING)
    return call, padded[: max(length, 0)]


def _search_call(draw: DrawFn, function: Function, operand: Expression, text: str) -> tuple[Expression, str]:
    """Draw a function that searches the text for a part of it, or for another one."""
    part = _part(draw, text)
    if function is Function.REPLACE:
        replacement = choose(draw, ("", "a", part + part))
        call = Call(function, (operand, _text(part.encode()), _text(replacement.encode())), STRING)
        return call, text.replace(part, replacement)
    count = choose(draw, (1, 1, 2))
    call = Call(function, (operand, _text(part.encode()), Literal(count, INTEGER)), STRING)
    return call, part.join(text.split(part)[:count])


def _part(draw: DrawFn, text: str) -> str:
    """Draw a part of a text, which is not empty."""
    start = draw(st.integers(0, max(len(text) - 1, 0)))
    return text[start : start + choose(draw, (1, 1, 2))] or choose(draw, ("-", "/", "aa"))


def _substring(draw: DrawFn, operand: Expression, text: str) -> tuple[Expression, str]:
    position, length = choose(draw, (1, 1, 1, 0, 2, 3, -1, -2)), choose(draw, (1, 2, 3, 16))
    start = position - 1 if position > 0 else max(len(text) + position, 0) if position else 0
    literals = (Literal(position, INTEGER), Literal(length, INTEGER))
    return Call(Function.SUBSTRING, (operand, *literals), STRING), text[start : start + length]


def _ascii(function: Function, text: str) -> str:
    """Apply a function to the ASCII characters of a text; others stay as they are."""
    match function:
        case Function.UPPER:
            return "".join(letter.upper() if letter.isascii() else letter for letter in text)
        case Function.LOWER:
            return "".join(letter.lower() if letter.isascii() else letter for letter in text)
        case Function.LTRIM:
            return text.lstrip(" ")
        case Function.RTRIM:
            return text.rstrip(" ")
        case _:
            return text.strip(" ")


def _text(value: bytes) -> Literal:
    return Literal(value, STRING)


_PLAIN = (Function.UPPER, Function.LOWER, Function.LTRIM, Function.RTRIM)
# TRIM occurs twice: alone and, as the last one, with characters to remove.
_FUNCTIONS = (
    *_PLAIN, Function.SUBSTRING, Function.SUBSTRING, Function.RPAD, Function.LPAD, Function.CONCAT,
    Function.REPLACE, Function.SUBSTRING_INDEX, Function.SUBSTRING_INDEX, Function.TRIM,
)  # fmt: skip
