"""Preimages of functions of text that are unions of intervals again, not only languages."""

from pruning.expressions.types import STRING
from pruning.rules.sets import cuts as sets
from pruning.rules.sets.cuts import Cut, Cuts
from pruning.rules.sets.primitives import prefix_end

# The number of bytes that Spark reads as one character, by the first of them alone.
_WIDTHS = (*[1] * 0xC2, *[2] * (0xE0 - 0xC2), *[3] * 0x10, *[4] * 5, *[1] * 0x0B)


def truncation_preimage(wanted: Cuts, length: int) -> Cuts:
    """Return the strings whose first `length` characters, as Spark counts them, are in a set of intervals.

    Claim     A string whose SUBSTRING from 1 is in the set is in the answer, and, if it does not end
              inside one of those characters, no other.
    Premises  The text cut is a start of the string, and cuts of strings that share that start are alike
              (axiom TRUNCATION, for all bytes); of a string that ends inside a character Spark takes some
              more bytes than there are.
    Proof     (1) A cut value v of no more characters: if s >= v then left(s) >= left(v) = v, and if
                  left(s) >= v then s >= left(s) >= v.
              (2) Of more: with w = left(v), left(s) >= v if and only if left(s) > w, as no text of so few
                  characters starts with w but w itself; that is, s is above all that start with w.
              (3) With more bytes s passes no cut but those that start with it: each of them is held.
    """
    points: list[Cut] = []
    broken: set[bytes] = set()
    for value, after in wanted.points:
        assert isinstance(value, bytes)
        assert not after
        start = first_characters(value, length)
        moved = value if start == value else prefix_end(start)  # (1), (2)
        if moved is not None:
            _toggle_cut(points, (moved, False))
        broken |= {value[:end] for end in range(1, len(value)) if _is_broken(value[:end], length)}
    return sets.union(Cuts(wanted.first, tuple(points)), sets.of_values(broken, STRING))  # (3)


def _is_broken(value: bytes, length: int) -> bool:
    """Tell whether a string ends inside one of its first characters."""
    position = 0
    for _ in range(length):
        if position >= len(value):
            break
        position += _WIDTHS[value[position]]
    return position > len(value)


def prefix_preimage(wanted: Cuts, before: bytes) -> Cuts:
    """Return the strings that are in a set of intervals once `before` is put in front of them.

    Claim     A string is in the answer if and only if its CONCAT after those bytes is in the set.
    Proof     before + s >= v: if v = before + w, where s >= w; else for all s, or none, as before >= v.
    """
    first = wanted.first
    points: list[Cut] = []
    for value, after in wanted.points:
        assert isinstance(value, bytes)
        assert not after
        rest = value.removeprefix(before)
        if value <= before:
            first = not first
        elif value.startswith(before):
            _toggle_cut(points, (rest, False))
    return Cuts(first, tuple(points))


def _toggle_cut(points: list[Cut], point: Cut) -> None:
    """Add a cut; two cuts at one place cancel."""
    if points and points[-1] == point:
        points.pop()
    else:
        points.append(point)


def first_characters(value: bytes, count: int) -> bytes:
    """Return the first characters of a string, each as long as its first byte says."""
    position = 0
    for _ in range(max(count, 0)):
        if position >= len(value):
            break
        position += _WIDTHS[value[position]]
    return value[:position]
