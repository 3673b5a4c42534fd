"""Texts that share beginnings, and patterns made of them.

Some beginnings are longer than writers' truncated bounds; among the last characters are the last code point,
characters of four bytes, characters without or with two capitals, and padding.

"""

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from strategies.choices import choose

_STEMS = (
    "", "a", "ab", "abc", "Ab", "x", " x", "order-2024-", "warehouse/north/0", "2024-03-1",
    "\U0001f600", "\u00e9", "stra\u00df", "a_", "a%",
)  # fmt: skip
_ENDS = (
    "", "", "0", "1", "9", "a", "b", "B", "c", " ", "  ", "\ud7ff", "\ue000", "\U0010ffff", "\U0001f600",
    "\u00e9", "\u00df", "%", "_", "\\", "\n", "\0", ".", "zz", "K", "s",
)  # fmt: skip
_ESCAPES = ("\\", "\\", "/", "!")
_REGULAR = (
    "a|b",
    "[a-c]",
    "b+",
    "\\d+",
    "^a.*c$",
    "^[a-z]+\\d",
    "(ab)+",
    "x?1$",
    "^(a|x)",
    "\\s",
    ".b",
    "^$",
    "0{1,2}$",
)


@cache
def texts() -> SearchStrategy[bytes]:
    """Texts of few characters, or with a beginning of more than sixteen.

    Shrinks to: the empty text.
    """
    ends = st.sampled_from(_ENDS)
    short = st.builds(lambda *parts: "".join(parts), st.sampled_from(_STEMS), ends, ends)
    free = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    return st.one_of(short, short, short, free).map(lambda text: text.encode())


@cache
def text_pools() -> SearchStrategy[tuple[bytes, ...]]:
    """A few texts, most of which share one beginning."""

    def together(stem: str, ends: list[str], others: list[bytes]) -> tuple[bytes, ...]:
        return (*((stem + end).encode() for end in ends), *others)

    end = st.builds(str.__add__, st.sampled_from(_ENDS), st.sampled_from(_ENDS))
    ends = st.lists(end, min_size=1, max_size=4)
    return st.builds(together, st.sampled_from(_STEMS), ends, st.lists(texts(), max_size=2))


def like_pattern(draw: DrawFn, text: str) -> tuple[bytes, str]:
    """Draw a pattern that a text matches, or nearly does, and its escape character."""
    escape = choose(draw, _ESCAPES)
    first, last = sorted(draw(st.integers(0, len(text))) for _ in range(2))
    before, kept, after = (_escape(part, escape) for part in (text[:first], text[first:last], text[last:]))
    shapes = (
        f"%{kept}%",
        f"%{kept}{after}",
        f"{before}%{after}",
        before + "_" * (last - first) + after + choose(draw, ("", "%", "_")),
        before + kept + after,
    )
    return choose(draw, shapes).encode(), escape


def prefix_pattern(draw: DrawFn, text: str) -> tuple[bytes, str]:
    """Draw `LIKE 'abc%'` with a beginning of a text."""
    escape = choose(draw, _ESCAPES)
    return (_escape(text[: draw(st.integers(0, len(text)))], escape) + "%").encode(), escape


def regular_expression(draw: DrawFn, text: str) -> bytes:
    """Draw a small regular expression, often one that begins with a part of the text."""
    part = text[: draw(st.integers(0, len(text)))]
    literal = "".join(_regular_character(character) for character in part)
    plain = (literal, f"^{literal}", f"{literal}$", f"^{literal}$")
    shapes = (*plain, f"^{literal}.*", f"{literal}|z", f"^{literal}[0-9a-c]")
    return choose(draw, (*shapes, *_REGULAR)).encode()


def _escape(text: str, escape: str) -> str:
    wild = {"%", "_", escape}
    return "".join(escape + character if character in wild else character for character in text)


def _regular_character(character: str) -> str:
    if character.isalnum() or character in " -_/" or character > "\x7f":
        return character
    return "\\" + character if character in ".+*?()[]{}|^$\\%" else "."
