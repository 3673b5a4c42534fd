"""CAST of an integer to text: the integers whose text is in a set.

The text is decimal, without leading zeros, and a minus sign comes before negative numbers only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pruning.expressions.types import Type
from pruning.rules.sets import cuts as sets
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import FULL, Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values

INTERVALS_MAX = 2_000  # a set of more intervals of integers is widened
_DIGITS = range(ord("0"), ord("9") + 1)
_ZERO = ord("0")


def integer_preimage(wanted: Values, type_: Type) -> Cuts:
    """Return the integers of a type whose text is in a set.

    Claim     An integer whose text is in the set is in the answer; no other is, if the set takes few
              intervals of integers.
    Proof     (1) A text is that of an integer if and only if it is how that integer is written.
              (2) The integers of one sign and one number of digits that begin with the same digits are an
                  interval. The state of the set's automaton after these digits tells whether it accepts
                  every rest of the digits that are missing, or none.
              (3) Where neither is so the next digit is looked at, or the whole interval is taken.
    """
    if isinstance(wanted, Cuts):
        for listed, invert in ((wanted, False), (sets.complement(wanted), True)):
            texts = _listed_texts(listed)
            if texts is not None:
                integers = sets.of_values(_integers(texts, type_), type_)  # (1)
                return sets.complement(integers) if invert else integers
    language = value_sets.as_language(wanted)
    return FULL if language is None else _integers_in_language(language, type_)


def _listed_texts(values: Cuts) -> list[bytes] | None:
    """Return the members of a set that is a list of texts; None of any other set."""
    texts: list[bytes] = []
    for start, end in values.intervals():
        if start is None or end is None or not isinstance(start[0], bytes) or end[0] != start[0] + b"\0":
            return None
        texts.append(start[0])
    return texts


def _integers(texts: Iterable[bytes], type_: Type) -> Iterator[int]:
    """Yield the integers of a type that are written as one of the texts."""
    limits = type_.integer_range
    assert limits is not None
    longest = max(len(str(limit)) for limit in limits)
    for text in texts:
        digits = text.removeprefix(b"-")
        if digits.isdigit() and len(text) <= longest:
            number = int(text)
            if str(number).encode() == text and limits[0] <= number <= limits[1]:
                yield number


@dataclass(frozen=True, slots=True)
class _Start:
    """The integers that begin with the same digits, `missing` more of which follow."""

    negative: bool
    leading: int
    missing: int
    state: int

    def interval(self) -> tuple[int, int]:
        """Return the least and the greatest of the integers."""
        least = self.leading * 10**self.missing
        greatest = least + 10**self.missing - 1
        return (-greatest, -least) if self.negative else (least, greatest)


@lru_cache(maxsize=512)
def _integers_in_language(wanted: Language, type_: Type) -> Cuts:
    """Return the integers of a type whose text is in a language."""
    step, accepts_rest = wanted.automaton.step, _rests(wanted)
    limits = type_.integer_range
    assert limits is not None
    lengths = range(len(str(limits[1])))
    open_starts = [
        _Start(negative, digit - _ZERO, missing, step(state, digit))
        for negative, state in ((False, 0), (True, step(0, ord("-"))))
        for missing in lengths
        for digit in _DIGITS[1:]
    ]
    open_starts.append(_Start(False, 0, 0, step(0, _ZERO)))
    intervals: list[tuple[int, int]] = []
    while open_starts:
        intervals += [start.interval() for start in open_starts if accepts_rest(start) is True]
        undecided = [start for start in open_starts if accepts_rest(start) is None]
        if len(undecided) > INTERVALS_MAX // len(_DIGITS):
            intervals += [start.interval() for start in undecided]  # (3)
            break
        open_starts = [
            _Start(
                start.negative,
                start.leading * 10 + digit - _ZERO,
                start.missing - 1,
                step(start.state, digit),
            )
            for start in undecided
            for digit in _DIGITS
        ]
    return _union(sorted(intervals), limits)


def _rests(wanted: Language) -> Callable[[_Start], bool | None]:
    """Return a function that tells whether all rests of a start are accepted (True), none (False) or some."""
    automaton = wanted.automaton
    answers: list[list[bool | None]] = [[bool(accepts) for accepts in automaton.accepting]]

    def accepts_rest(start: _Start) -> bool | None:
        """Tell it of one start."""
        while len(answers) <= start.missing:
            shorter = answers[-1]
            answers.append(
                [
                    _same(shorter[automaton.step(state, digit)] for digit in _DIGITS)
                    for state in range(len(shorter))
                ]
            )
        return answers[start.missing][start.state]

    return accepts_rest


def _same(answers: Iterable[bool | None]) -> bool | None:
    """Return the answer that all answers are; None if they differ."""
    first, *others = answers
    return first if all(answer is first for answer in others) else None


def _union(intervals: list[tuple[int, int]], limits: tuple[int, int]) -> Cuts:
    """Return the integers of ascending intervals, as far as they lie within limits."""
    points: list[int] = []
    for least, greatest in intervals:
        first, last = max(least, limits[0]), min(greatest, limits[1])
        if first > last:
            continue
        if points and points[-1] == first:
            points[-1] = last + 1
        else:
            points += [first, last + 1]
    begins = bool(points) and points[0] == limits[0]
    inner = points[1:] if begins else points
    return Cuts(begins, tuple((point, False) for point in inner if point <= limits[1]))
